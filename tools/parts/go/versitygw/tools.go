//go:build tools

// Names the program, so that `go mod tidy` keeps what it is made of in go.mod and go.sum.
package tools

import _ "github.com/versity/versitygw/cmd/versitygw"
