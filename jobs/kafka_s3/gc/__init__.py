"""What dead runs left: `orphans` says which objects may be deleted, and why that cannot race; `places` where such lie;
`gc` finds and deletes them."""
