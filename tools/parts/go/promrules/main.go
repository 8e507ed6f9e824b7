// Reads Prometheus' rules and queries as Prometheus does: `promrules RULES` checks a file of alert rules; every line of
// the standard input is a query. Prints, as JSON, what is wrong and the series that each expression selects.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
)

type selector struct {
	Name   string            `json:"name"`
	Labels map[string]string `json:"labels"`
}

type read struct {
	Expression string     `json:"expression"`
	Error      string     `json:"error,omitempty"`
	Selectors  []selector `json:"selectors"`
}

func expressionOf(text string) read {
	found := read{Expression: text, Selectors: []selector{}}
	parsed, err := parser.ParseExpr(text)
	if err != nil {
		found.Error = err.Error()
		return found
	}
	parser.Inspect(parsed, func(node parser.Node, _ []parser.Node) error {
		if vector, ok := node.(*parser.VectorSelector); ok {
			one := selector{Name: vector.Name, Labels: map[string]string{}}
			for _, matcher := range vector.LabelMatchers {
				if matcher.Name != model.MetricNameLabel {
					one.Labels[matcher.Name] = matcher.Value
				}
			}
			found.Selectors = append(found.Selectors, one)
		}
		return nil
	})
	return found
}

func main() {
	problems := []string{}
	found := []read{}
	groups, errors := rulefmt.ParseFile(os.Args[1], false)
	for _, err := range errors {
		problems = append(problems, err.Error())
	}
	if groups != nil {
		for _, group := range groups.Groups {
			for _, rule := range group.Rules {
				found = append(found, expressionOf(rule.Expr))
			}
		}
	}
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		found = append(found, expressionOf(lines.Text()))
	}
	if err := json.NewEncoder(os.Stdout).Encode(map[string]any{"problems": problems, "read": found}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
