package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	pathStep = regexp.MustCompile(`(?m)^ +\d+\. `)
	funcName = regexp.MustCompile(`\b(?:([a-z]\w*)\.)?([A-Za-z]\w*)\.([A-Za-z]\w*)\b`)
)

// declared returns the functions ("Func") and methods ("Type.Method") of each package of this
// module, by package name.
func declared(t *testing.T) (functions map[string][]string, docs map[string]string) {
	t.Helper()
	functions, docs = map[string][]string{}, map[string]string{}
	root := filepath.Join("..", "..", "internal")
	err := filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		pkg := file.Name.Name
		docs[pkg] += file.Doc.Text()
		for _, decl := range file.Decls {
			if fn, ok := decl.(*ast.FuncDecl); ok {
				id := fn.Name.Name
				if fn.Recv != nil {
					id = receiver(fn) + "." + id
				}
				functions[pkg] = append(functions[pkg], id)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return functions, docs
}

// receiver returns the name of the receiver type of a method.
func receiver(fn *ast.FuncDecl) string {
	expr := fn.Recv.List[0].Type
	if star, ok := expr.(*ast.StarExpr); ok {
		expr = star.X
	}
	if index, ok := expr.(*ast.IndexExpr); ok {
		expr = index.X
	}
	if id, ok := expr.(*ast.Ident); ok {
		return id.Name
	}
	return ""
}

// Every function named in a "The path of …" section of a package comment exists.
func TestPaths(t *testing.T) {
	t.Parallel()
	functions, docs := declared(t)
	found := 0
	for pkg, doc := range docs {
		for section := range strings.SplitSeq(doc, "\n# ") {
			if !strings.HasPrefix(section, "The path of ") {
				continue
			}
			title, _, _ := strings.Cut(section, "\n")
			last := pkg // the package of the previous name
			for _, step := range pathStep.Split(section, -1)[1:] {
				for _, m := range funcName.FindAllStringSubmatch(step, -1) {
					in, typ, name := m[1], m[2], m[3]
					id := typ + "." + name
					switch {
					case in != "":
						last = in
					case functions[typ] != nil && slices.Contains(functions[typ], name): // pkg.Func
						continue
					case slices.Contains(functions[pkg], id):
						last = pkg
					}
					if !slices.Contains(functions[last], id) {
						t.Errorf("package %s, %s: there is no %s in package %s", pkg, title, id, last)
					}
					found++
				}
			}
		}
	}
	if found < 10 {
		t.Errorf("found only %d functions on paths", found)
	}
}
