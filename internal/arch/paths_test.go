package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
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

// declared returns the types, functions ("Func") and methods ("Type.Method") of each package in
// this module, and the package comments, both by package name.
func declared(t *testing.T) (functions map[string][]string, docs map[string]string) {
	t.Helper()
	functions, docs = map[string][]string{}, map[string]string{}
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() && name != root && ignored(entry.Name()) {
			return fs.SkipDir
		}
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
			switch decl := decl.(type) {
			case *ast.FuncDecl:
				id := decl.Name.Name
				if decl.Recv != nil {
					id = receiver(decl) + "." + id
				}
				functions[pkg] = append(functions[pkg], id)
			case *ast.GenDecl:
				for _, spec := range decl.Specs {
					if spec, ok := spec.(*ast.TypeSpec); ok {
						functions[pkg] = append(functions[pkg], spec.Name.Name)
					}
				}
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
	switch index := expr.(type) {
	case *ast.IndexExpr:
		expr = index.X
	case *ast.IndexListExpr:
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
		t.Errorf("found %d functions in path sections, want at least 10", found)
	}
}

var qualified = regexp.MustCompile("`((?:[A-Za-z]\\w*\\.)+[A-Za-z]\\w*)`")

// Every function named in a "The path of …" section of docs/architecture.md exists.
func TestPathsOfPage(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "architecture.md"))
	if err != nil {
		t.Fatal(err)
	}
	functions, _ := declared(t)
	known := map[string]bool{} // with and without the package
	for pkg, names := range functions {
		for _, name := range names {
			known[pkg+"."+name] = true
			if strings.Contains(name, ".") {
				known[name] = true
			}
		}
	}
	paths := 0
	for section := range strings.SplitSeq(string(text), "\n## ") {
		if !strings.HasPrefix(section, "The path of ") {
			continue
		}
		paths++
		title, _, _ := strings.Cut(section, "\n")
		for _, m := range qualified.FindAllStringSubmatch(section, -1) {
			if name := m[1]; !known[name] && !strings.HasSuffix(name, ".lua") {
				t.Errorf("%s: there is no %s", title, name)
			}
		}
	}
	if paths < 6 {
		t.Errorf("found %d path sections, want at least 6", paths)
	}
}
