// Package arch keeps the packages of this module on their floors.
//
// A program of layers stays one only as long as somebody notices the import
// that cuts through them, and nobody reads every import of every change. The
// table Floors says who stands where, Check reads the source files and returns
// what breaks it, and the test of this package fails on anything that comes
// back. The files are parsed here: the answer of "go list" would be kept by the
// test cache, whereas the cache knows the files that a test opens.
package arch

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// House says who may import whom.
type House struct {
	// Floors holds the floor of each package, by its path in the module. A path
	// that ends in /... means what is below it.
	Floors map[string]int
	// Sideways are the imports within one floor that are right all the same:
	// from the first package to the second.
	Sideways [][2]string
	// TestSupport are packages that only tests import. They stand on no floor
	// and import what they like.
	TestSupport []string
	// Pure is the highest floor without the web, flags and hidden state.
	Pure int
	// Impure are the imports, with what is below them, that no pure floor has.
	Impure []string
}

// Retwis is the house of this module.
func Retwis() House {
	return House{
		Floors: map[string]int{
			"cmd/retwis":           6,
			"internal/cli":         5,
			"internal/web":         4,
			"internal/seed":        4,
			"internal/social":      3,
			"model":                2,
			"redlock":              1,
			"redlock/...":          1,
			"bulk":                 1,
			"index":                1,
			"index/...":            1,
			"index/internal/...":   0,
			"internal/store":       0,
			"internal/nodes":       0,
			"internal/rediserr":    0,
			"internal/redisurl":    0,
			"internal/redisserver": 0,
		},
		Sideways: [][2]string{
			{"index/...", "index"},                     // the types that its subpackages share
			{"redlock/...", "redlock"},                 // what its subpackages are about
			{"internal/store", "internal/redisserver"}, // the embedded server is one way to open a database
			{"internal/store", "internal/redisurl"},    // a URL names the database
			{"internal/store", "internal/rediserr"},
			{"internal/store", "internal/nodes"},
			{"internal/nodes", "internal/rediserr"}, // which answer of several says most
		},
		TestSupport: []string{"internal/redistest", "internal/arch"},
		Pure:        3,
		Impure:      []string{"net/http", "flag", "github.com/spf13/pflag", "github.com/spf13/cobra"},
	}
}

// Check reads every Go file of the module in the directory root, whatever its
// build tags, and returns what breaks the rules of the house: a line each, with
// the place. Modules within the module are passed over.
func Check(root string, house House) ([]string, error) {
	module, err := modulePath(filepath.Join(root, "go.mod"))
	if err != nil {
		return nil, err
	}
	c := checker{house: house, module: module, root: root, files: token.NewFileSet()}
	err = filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir():
			return skip(root, name)
		case strings.HasSuffix(name, ".go"):
			return c.file(name)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("arch: %w", err)
	}
	return c.found, nil
}

// modulePath reads the path of a module from its go.mod.
func modulePath(file string) (string, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("arch: %w", err)
	}
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); len(fields) >= 2 && fields[0] == "module" {
			return fields[1], nil
		}
	}
	return "", fmt.Errorf("arch: %s names no module", file)
}

// skip returns fs.SkipDir for a directory that the go command passes over as
// well, and for one that is a module of its own.
func skip(root, dir string) error {
	if dir == root {
		return nil
	}
	switch name := filepath.Base(dir); {
	case name == "testdata", name == "vendor", name == "node_modules",
		strings.HasPrefix(name, "."), strings.HasPrefix(name, "_"):
		return fs.SkipDir
	}
	_, err := os.Stat(filepath.Join(dir, "go.mod"))
	switch {
	case err == nil:
		return fs.SkipDir
	case errors.Is(err, fs.ErrNotExist):
		return nil
	}
	return err
}

type checker struct {
	house  House
	module string
	root   string
	files  *token.FileSet
	found  []string
}

// file checks one file.
func (c *checker) file(name string) error {
	file, err := parser.ParseFile(c.files, name, nil, parser.SkipObjectResolution|parser.ParseComments)
	if err != nil {
		return err
	}
	dir, err := filepath.Rel(c.root, filepath.Dir(name))
	if err != nil {
		return err
	}
	pkg, test := filepath.ToSlash(dir), strings.HasSuffix(name, "_test.go")
	if slices.Contains(c.house.TestSupport, pkg) {
		return nil
	}
	floor, ok := c.floor(pkg)
	if !ok {
		c.report(file.Name.Pos(), "%s stands on no floor; give it one in internal/arch", pkg)
		return nil
	}
	for _, spec := range file.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return err
		}
		if broken := c.judge(pkg, floor, imported, test); broken != "" {
			c.report(spec.Pos(), "%s", broken)
		}
	}
	if floor <= c.house.Pure && !test {
		c.state(pkg, floor, file)
	}
	return nil
}

func (c *checker) report(at token.Pos, format string, args ...any) {
	place := c.files.Position(at)
	if rel, err := filepath.Rel(c.root, place.Filename); err == nil {
		place.Filename = filepath.ToSlash(rel)
	}
	place.Column = 0
	c.found = append(c.found, place.String()+": "+fmt.Sprintf(format, args...))
}

// judge says what is wrong with an import, or nothing.
func (c *checker) judge(pkg string, floor int, imported string, test bool) string {
	target, ours := strings.CutPrefix(imported, c.module+"/")
	if imported == c.module {
		target, ours = ".", true
	}
	if !ours {
		if floor <= c.house.Pure && !test && slices.ContainsFunc(c.house.Impure, func(p string) bool { return under(imported, p) }) {
			return fmt.Sprintf("%s is on floor %d, which knows no %s", pkg, floor, imported)
		}
		return ""
	}
	if slices.Contains(c.house.TestSupport, target) {
		if test {
			return ""
		}
		return fmt.Sprintf("%s imports %s, which is for tests alone", pkg, target)
	}
	if target == pkg { // a test from outside the package
		return ""
	}
	below, known := c.floor(target)
	switch {
	case !known:
		return fmt.Sprintf("%s imports %s, which stands on no floor", pkg, target)
	case below > floor:
		return fmt.Sprintf("%s on floor %d imports %s on floor %d above it", pkg, floor, target, below)
	case below == floor && !c.sideways(pkg, target):
		return fmt.Sprintf("%s imports its sibling %s on floor %d", pkg, target, floor)
	}
	return ""
}

// state reports what a pure package may not have: init, and variables that
// have to be set from somewhere.
func (c *checker) state(pkg string, floor int, file *ast.File) {
	for _, decl := range file.Decls {
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			if decl.Recv == nil && decl.Name.Name == "init" {
				c.report(decl.Pos(), "%s is on floor %d, which knows no init", pkg, floor)
			}
		case *ast.GenDecl:
			for _, spec := range decl.Specs {
				value, ok := spec.(*ast.ValueSpec)
				if ok && decl.Tok == token.VAR && len(value.Values) == 0 && !embeds(decl.Doc) && !embeds(value.Doc) {
					c.report(value.Pos(), "%s is on floor %d, which knows no globals: %s", pkg, floor, value.Names[0].Name)
				}
			}
		}
	}
}

// embeds tells whether a variable gets its value from a file.
func embeds(doc *ast.CommentGroup) bool {
	return doc != nil && slices.ContainsFunc(doc.List, func(c *ast.Comment) bool {
		return strings.HasPrefix(c.Text, "//go:embed ")
	})
}

// floor returns the floor of a package.
func (c *checker) floor(pkg string) (int, bool) {
	if floor, ok := c.house.Floors[pkg]; ok {
		return floor, true
	}
	for dir := path.Dir(pkg); dir != "."; dir = path.Dir(dir) {
		if floor, ok := c.house.Floors[dir+"/..."]; ok {
			return floor, true
		}
	}
	return 0, false
}

func (c *checker) sideways(from, to string) bool {
	return slices.ContainsFunc(c.house.Sideways, func(pair [2]string) bool {
		return matches(pair[0], from) && matches(pair[1], to)
	})
}

// matches tells whether a path is the pattern, or, for dir/..., below dir.
func matches(pattern, pkg string) bool {
	if dir, ok := strings.CutSuffix(pattern, "/..."); ok {
		return strings.HasPrefix(pkg, dir+"/")
	}
	return pattern == pkg
}

// under tells whether a path is dir or below it.
func under(pkg, dir string) bool { return pkg == dir || strings.HasPrefix(pkg, dir+"/") }
