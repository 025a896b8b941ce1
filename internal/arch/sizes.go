package arch

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Sizes bounds packages, types and functions: what is larger has several subjects. Tests and
// generated code do not count.
type Sizes struct {
	Files, Lines int // of a package
	Methods      int // of a type, with those of the types that it embeds
	FuncLines    int // of a function
	Params       int // of a function, besides a context
	// Exceptions are larger. A package is named by its directory, a type and a function
	// with it: "model/internal/record.Table", "redlock.Manager.Lock".
	Exceptions map[string]Exception
}

// Exception is a package, a type or a function that is larger than others may be, but not
// larger than this. A number that does not apply is 0.
type Exception struct {
	Files, Lines, Methods int
	Reason                string
}

// Reasons of exceptions.
const (
	aTable          = "a table, which reads well in one piece"
	publicAPI       = "the methods of a public type, which other modules call"
	severalSubjects = "not split by subject yet; it must not grow"
)

// RetwisSizes returns the bounds of this repository.
func RetwisSizes() Sizes {
	return Sizes{
		Files: 25, Lines: 4000, Methods: 30, FuncLines: 80, Params: 5,
		Exceptions: map[string]Exception{
			"bench/lab.person":             {Methods: 35, Reason: severalSubjects},
			"bench/lab.run":                {Lines: 134, Reason: severalSubjects},
			"bulk/internal/command.Lookup": {Lines: 82, Reason: aTable},
			"internal/web.Server.routes":   {Lines: 129, Reason: aTable},
			"model.Store":                  {Methods: 35, Reason: publicAPI},
		},
	}
}

// CheckSizes reads every Go file below the directory root, nested modules included, and
// returns one line for each package, type and function that is too large, and for each
// exception that is not needed.
func CheckSizes(root string, s Sizes) ([]string, error) {
	module, err := modulePath(filepath.Join(root, "go.mod"))
	if err != nil {
		return nil, err
	}
	m := measure{sizes: s, module: module, root: root, positions: token.NewFileSet(), packages: map[string]*pkgSize{}, types: map[string]*typeSize{}, needed: map[string]bool{}}
	err = filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && name != root && ignored(filepath.Base(name)):
			return fs.SkipDir
		case !entry.IsDir() && strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go"):
			return m.file(name)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("arch: %w", err)
	}
	m.compare()
	slices.Sort(m.violations)
	return m.violations, nil
}

type pkgSize struct{ files, lines int }

// typeSize has the methods of a type and the types that it embeds, as names in measure.types.
type typeSize struct {
	methods  map[string]bool
	embedded []string
}

type measure struct {
	sizes      Sizes
	module     string
	root       string
	positions  *token.FileSet
	packages   map[string]*pkgSize
	types      map[string]*typeSize
	needed     map[string]bool // the exceptions that are needed
	violations []string
}

func (m *measure) file(name string) error {
	file, err := parser.ParseFile(m.positions, name, nil, parser.SkipObjectResolution|parser.ParseComments)
	if err != nil {
		return err
	}
	if ast.IsGenerated(file) {
		return nil
	}
	dir, err := filepath.Rel(m.root, filepath.Dir(name))
	if err != nil {
		return err
	}
	pkg := filepath.ToSlash(dir)
	size := m.packages[pkg]
	if size == nil {
		size = &pkgSize{}
		m.packages[pkg] = size
	}
	size.files++
	size.lines += m.positions.File(file.Pos()).LineCount()
	for _, decl := range file.Decls {
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			m.function(pkg, decl)
		case *ast.GenDecl:
			for _, spec := range decl.Specs {
				if spec, ok := spec.(*ast.TypeSpec); ok {
					m.declaration(pkg, file, spec)
				}
			}
		}
	}
	return nil
}

func (m *measure) function(pkg string, decl *ast.FuncDecl) {
	name := pkg + "." + decl.Name.Name
	if decl.Recv != nil {
		receiver := pkg + "." + typeName(decl.Recv.List[0].Type)
		m.typeOf(receiver).methods[decl.Name.Name] = true
		name = receiver + "." + decl.Name.Name
	}
	lines := m.positions.Position(decl.End()).Line - m.positions.Position(decl.Pos()).Line + 1
	m.bound(name, "lines", lines, m.sizes.FuncLines, m.sizes.Exceptions[name].Lines)
	m.bound(name, "parameters", params(decl.Type.Params), m.sizes.Params, 0)
}

// params counts parameters, but for a context.
func params(list *ast.FieldList) (n int) {
	for _, field := range list.List {
		if t, isSelector := field.Type.(*ast.SelectorExpr); isSelector && t.Sel.Name == "Context" {
			continue
		}
		n += max(1, len(field.Names))
	}
	return n
}

// declaration notes the methods of an interface, and what a struct or an interface embeds.
func (m *measure) declaration(pkg string, file *ast.File, spec *ast.TypeSpec) {
	var fields *ast.FieldList
	switch t := spec.Type.(type) {
	case *ast.StructType:
		fields = t.Fields
	case *ast.InterfaceType:
		fields = t.Methods
	default:
		return
	}
	size := m.typeOf(pkg + "." + spec.Name.Name)
	for _, field := range fields.List {
		if _, isMethod := field.Type.(*ast.FuncType); isMethod && len(field.Names) > 0 {
			if _, isInterface := spec.Type.(*ast.InterfaceType); isInterface {
				size.methods[field.Names[0].Name] = true
			}
		}
		if len(field.Names) > 0 {
			continue
		}
		if name := m.embeddedName(pkg, file, field.Type); name != "" {
			size.embedded = append(size.embedded, name)
		}
	}
}

// embeddedName returns the name of an embedded type of this repository.
func (m *measure) embeddedName(pkg string, file *ast.File, t ast.Expr) string {
	name := typeName(t)
	from, name, isOther := strings.Cut(name, ".")
	if !isOther {
		return pkg + "." + from
	}
	for _, spec := range file.Imports {
		imported, _ := strconv.Unquote(spec.Path.Value)
		as := path.Base(imported)
		if spec.Name != nil {
			as = spec.Name.Name
		}
		if dir, ours := strings.CutPrefix(imported, m.module+"/"); ours && as == from {
			return dir + "." + name
		}
	}
	return ""
}

// typeName returns the name of a type without pointers and type parameters, "" for a type
// without a name.
func typeName(t ast.Expr) string {
	switch t := t.(type) {
	case *ast.Ident:
		return t.Name
	case *ast.StarExpr:
		return typeName(t.X)
	case *ast.ParenExpr:
		return typeName(t.X)
	case *ast.IndexExpr:
		return typeName(t.X)
	case *ast.IndexListExpr:
		return typeName(t.X)
	case *ast.SelectorExpr:
		return typeName(t.X) + "." + t.Sel.Name
	}
	return ""
}

func (m *measure) typeOf(name string) *typeSize {
	size := m.types[name]
	if size == nil {
		size = &typeSize{methods: map[string]bool{}}
		m.types[name] = size
	}
	return size
}

// methods returns the methods of a type, with those of the types that it embeds.
func (m *measure) methods(name string, within []string) map[string]bool {
	size := m.types[name]
	if size == nil || slices.Contains(within, name) {
		return nil
	}
	all := maps.Clone(size.methods)
	for _, embedded := range size.embedded {
		for method := range m.methods(embedded, append(within, name)) {
			if ast.IsExported(method) || samePackage(embedded, name) {
				all[method] = true
			}
		}
	}
	return all
}

// samePackage reports whether two types have one package.
func samePackage(one, two string) bool {
	return strings.TrimSuffix(one, path.Ext(one)) == strings.TrimSuffix(two, path.Ext(two))
}

func (m *measure) compare() {
	for pkg, size := range m.packages {
		allowed := m.sizes.Exceptions[pkg]
		m.bound(pkg, "files", size.files, m.sizes.Files, allowed.Files)
		m.bound(pkg, "lines", size.lines, m.sizes.Lines, allowed.Lines)
	}
	for name := range m.types {
		m.bound(name, "methods", len(m.methods(name, nil)), m.sizes.Methods, m.sizes.Exceptions[name].Methods)
	}
	for name, exception := range m.sizes.Exceptions {
		if !m.needed[name] {
			m.violations = append(m.violations, name+" is not too large: remove the exception")
		}
		if exception.Reason == "" {
			m.violations = append(m.violations, name+" is an exception without a reason")
		}
	}
}

// bound compares a number with its limit and that of an exception.
func (m *measure) bound(name, what string, n, limit, exception int) {
	if n <= limit {
		return
	}
	if exception > 0 {
		m.needed[name], limit = true, exception
	}
	if n > limit {
		m.violations = append(m.violations, fmt.Sprintf("%s has %d %s, more than %d", name, n, what, limit))
	}
}
