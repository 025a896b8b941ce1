// Package arch enforces the architecture of this module: which package may import which.
//
// Every package has a level and imports only from lower levels. A violation is one line in a
// large change and easily missed in review, so the test of this package reads the imports of
// every source file and compares them with the table in Retwis. The test parses the files itself,
// because the test cache tracks the files that a test opens, but not the files that "go list" reads.
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

// Architecture is a table of packages and the rules for imports between them.
type Architecture struct {
	// Levels holds the level of each package by its path in the module. A path that ends in /...
	// matches all packages below it.
	Levels map[string]int
	// Siblings lists the imports that are allowed within one level: the
	// importing package, then the imported one.
	Siblings [][2]string
	// SharedTests lists packages whose tests may import each other, because the tests use a package
	// as a part of the whole application.
	SharedTests []string
	// Forbidden lists imports that a package must not use, besides Impure; each includes the
	// packages below it.
	Forbidden map[string][]string
	// Reserved lists, by method name, the packages that may call the method, besides TestSupport.
	Reserved map[string][]string
	// TestSupport lists packages that only tests import. They have no level and
	// may import any package.
	TestSupport []string
	// Pure is the highest level on which packages may import nothing in Impure
	// and may have neither init functions nor uninitialized globals.
	Pure int
	// Impure lists imports that only higher levels may have; each includes the packages below it.
	Impure []string
}

// Retwis returns the architecture of this module.
func Retwis() Architecture {
	return Architecture{
		Levels:      levels,
		Siblings:    append(siblingsOfSocial(), siblings...),
		Forbidden:   map[string][]string{"internal/social": {"github.com/redis/rueidis"}},
		SharedTests: []string{"internal/app", "internal/social", "internal/social/..."},
		TestSupport: []string{"internal/redistest", "internal/require", "internal/files/filestest", "internal/mail/mailtest", "internal/social/socialtest", "internal/ordered/orderedtest", "internal/arch", "internal/outside", "examples/internal/exampletest"},
		Reserved:    reserved,
		Pure:        4, Impure: []string{"net/http", "flag", "github.com/spf13/pflag", "github.com/spf13/cobra"},
	}
}

// levels lists the packages, from the highest level to the lowest.
var levels = map[string]int{
	"cmd/retwis": 7, // main

	// Programs that use the toolkit as other modules do.
	"examples/...": 6,

	// The command line.
	"internal/cli":     6,
	"internal/cli/...": 6,

	// HTTP, and other users of the application.
	"internal/web":            5,
	"internal/web/httpserver": 5,
	"internal/web/metrics":    5,
	"internal/web/request":    5,
	"internal/web/static":     5,
	"internal/web/view":       5,
	"internal/seed":           5,
	"internal/certificates":   5,

	// The assembled application, and packages that work on all of it.
	"internal/app":               4,
	"internal/social/check":      4,
	"internal/social/import2009": 4,
	"internal/social/load":       4,
	"internal/social/live":       4,

	// The application by subject, independent of HTTP.
	"internal/social":             3,
	"internal/social/...":         3,
	"internal/social/live/stream": 3,

	// Object mapping.
	"model":     2,
	"model/...": 2,

	// The patterns.
	"redlock":                     1,
	"redlock/...":                 1,
	"collection":                  1,
	"internal/redis/redismetrics": 1,
	"ratelimit":                   1,
	"bulk":                        1,
	"bulk/...":                    1,
	"index":                       1,
	"index/...":                   1,
	"internal/mail":               1,

	// Shared machinery.
	"maintain":                   0,
	"internal/redis/keys":        0,
	"internal/fold":              0,
	"internal/window":            0,
	"internal/delimited":         0,
	"internal/unpack":            0,
	"internal/files":             0,
	"internal/logfile":           0,
	"internal/maintain":          0,
	"internal/ordered":           0,
	"internal/owner":             0,
	"internal/redis/scan":        0,
	"internal/redis/script":      0,
	"internal/redis/partition":   0,
	"index/decimal":              0,
	"internal/redis/nodes":       0,
	"internal/redis/rediserr":    0,
	"internal/redis/reads":       0,
	"internal/redis/reply":       0,
	"internal/picture":           0,
	"internal/sleep":             0,
	"internal/elapsed":           0,
	"internal/i18n":              0,
	"internal/turns":             0,
	"internal/redis/redisserver": 0,
	"internal/redis/redisurl":    0,
	"internal/redis/store":       0,
	"internal/watched":           0,
}

// reserved lists the packages that work on the database as a whole and may call
// app.App.Internals.
var reserved = map[string][]string{"Internals": {"internal/app", "internal/social/check", "internal/social/live", "internal/social/load"}}

// siblings are the imports within a level, except the imports of the application's packages.
var siblings = [][2]string{
	{"internal/cli", "internal/cli/..."},       // the root command lists the commands of each noun
	{"internal/cli/...", "internal/cli/shell"}, // flags, tables and input that all commands share
	{"internal/cli/...", "internal/cli/site"},  // opens the database of the site
	{"model", "model/internal/..."},            // the parts of the mapper
	{"model/internal/unique", "model/internal/schema"},
	{"model/internal/unique", "model/internal/backoff"},
	{"model/internal/record", "model/internal/schema"},
	{"model/internal/record", "model/internal/unique"},
	{"model/internal/record", "model/internal/backoff"},
	{"model/internal/rows", "model/internal/schema"},
	{"model/internal/registry", "model/internal/schema"},
	{"model/internal/record", "model/internal/rows"},
	{"model/internal/record", "model/internal/registry"},
	{"model/internal/query", "model/internal/schema"},
	{"model/internal/query", "model/internal/record"},
	{"model/internal/maintain", "model/internal/schema"},
	{"model/internal/maintain", "model/internal/unique"},
	{"model/internal/maintain", "model/internal/record"},
	{"model/internal/maintain", "model/internal/registry"},
	{"model/internal/maintain", "model/internal/backoff"},
	{"internal/delimited", "internal/window"},
	{"bulk", "bulk/internal/..."}, // the parts of the loader
	{"bulk", "bulk/resp"},
	{"bulk/snapshot", "bulk/internal/..."}, // reads what the loader loads
	{"bulk/internal/...", "bulk/resp"},
	{"bulk/internal/...", "bulk/internal/..."},
	{"index", "index/internal/..."},                        // parts that are independent of a whole index
	{"index/internal/conditions", "index/internal/ranged"}, // the ranges that conditions select
	{"index/internal/entries", "index/internal/ranged"},
	{"index/internal/entries", "index/internal/batch"},
	{"index/space", "index/internal/..."},
	{"index/graph", "index/internal/..."},
	{"index/graph/internal/...", "index/internal/..."},
	{"index/...", "index"},                                          // types that all indexes share
	{"index/graph", "index/graph/internal/..."},                     // queries as text, values, entries
	{"index/graph/internal/syntax", "index/graph/internal/entries"}, // the maximum length of a name
	{"index/text", "index/text/internal/..."},                       // words, queries and postings
	{"redlock", "redlock/internal/..."},
	{"redlock/internal/server", "redlock/internal/clock"},
	{"internal/ordered", "index/decimal"}, // input and output of a decimal column
	{"internal/maintain", "maintain"},
	{"internal/maintain", "internal/redis/partition"},
	{"internal/maintain", "internal/redis/scan"},
	{"internal/maintain", "internal/redis/script"},
	{"internal/redis/partition", "internal/redis/keys"},
	{"internal/redis/partition", "internal/redis/script"},
	{"internal/redis/scan", "internal/redis/nodes"},
	{"internal/redis/scan", "internal/redis/rediserr"},
	{"internal/files", "internal/owner"},                   // files belong to the owner of their directory
	{"internal/redis/redisserver", "internal/owner"},       // root's server runs as the owner of its directory
	{"internal/redis/store", "internal/owner"},             // who may use the directory
	{"internal/redis/store", "internal/redis/redisserver"}, // the embedded server is one way to open a database
	{"internal/redis/store", "internal/redis/redisurl"},    // a URL names the database
	{"internal/redis/store", "internal/redis/rediserr"},
	{"internal/redis/store", "internal/sleep"},
	{"internal/redis/reply", "internal/redis/rediserr"}, // a wrong type is not an error
	{"internal/redis/reads", "internal/redis/reply"},
	{"internal/redis/store", "internal/redis/nodes"},
	{"internal/picture", "internal/turns"},              // decoding waits in a queue
	{"internal/watched", "internal/elapsed"},            // how old a value is
	{"internal/watched", "internal/redis/store"},        // which part of a Cluster answers
	{"internal/watched", "internal/redis/rediserr"},     // whether a server was reached
	{"internal/redis/nodes", "internal/redis/rediserr"}, // which of several errors to report
	{"internal/redis/nodes", "internal/redis/keys"},     // how many slots there are
	{"internal/web", "internal/web/httpserver"},         // middleware around the pages
	{"internal/web", "internal/web/metrics"},
	{"internal/web", "internal/web/request"},
	{"internal/web", "internal/web/static"},
	{"internal/web", "internal/web/view"}, // the pages
	{"internal/web/request", "internal/web/httpserver"},
	{"internal/web/request", "internal/web/metrics"},
	{"internal/web/request", "internal/web/view"},      // error pages, and the log-in
	{"internal/web/view", "internal/web/static"},       // the addresses of styles and scripts
	{"internal/web/static", "internal/web/httpserver"}, // compression
}

// Check reads every Go file of the module in the directory root, regardless of
// build tags, and returns one line with file and line number for each violation
// of a. It skips nested modules.
func Check(root string, a Architecture) ([]string, error) {
	module, err := modulePath(filepath.Join(root, "go.mod"))
	if err != nil {
		return nil, err
	}
	c := checker{arch: a, module: module, root: root, files: token.NewFileSet()}
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
	return c.violations, nil
}

// modulePath returns the module path that a go.mod file declares.
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
	return "", fmt.Errorf("arch: %s declares no module", file)
}

// skip returns fs.SkipDir for a directory that the go command ignores and for
// the root of a nested module.
func skip(root, dir string) error {
	if dir == root {
		return nil
	}
	if ignored(filepath.Base(dir)) {
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

// ignored reports whether the go command ignores a directory with this name.
func ignored(name string) bool {
	return name == "testdata" || name == "vendor" || name == "node_modules" ||
		strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_")
}

type checker struct {
	arch       Architecture
	module     string
	root       string
	files      *token.FileSet
	violations []string
}

// file checks the imports of a file and, if its package is pure, its globals.
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
	if slices.Contains(c.arch.TestSupport, pkg) {
		return nil
	}
	level, ok := c.level(pkg)
	if !ok {
		c.report(file.Name.Pos(), "%s has no level; add it to the table in internal/arch", pkg)
		return nil
	}
	for _, spec := range file.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return err
		}
		if violation := c.checkImport(pkg, level, imported, test); violation != "" {
			c.report(spec.Pos(), "%s", violation)
		}
	}
	if level <= c.arch.Pure && !test {
		c.checkState(pkg, level, file)
	}
	c.checkReserved(pkg, file)
	return nil
}

// checkReserved reports calls of reserved methods.
func (c *checker) checkReserved(pkg string, file *ast.File) {
	ast.Inspect(file, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok {
			if allowed, reserved := c.arch.Reserved[sel.Sel.Name]; reserved && !slices.Contains(allowed, pkg) {
				c.report(sel.Sel.Pos(), "%s must not use %s; only %s may", pkg, sel.Sel.Name, strings.Join(allowed, ", "))
			}
		}
		return true
	})
}

func (c *checker) report(pos token.Pos, format string, args ...any) {
	position := c.files.Position(pos)
	if rel, err := filepath.Rel(c.root, position.Filename); err == nil {
		position.Filename = filepath.ToSlash(rel)
	}
	position.Column = 0
	c.violations = append(c.violations, position.String()+": "+fmt.Sprintf(format, args...))
}

// checkImport describes how an import violates the architecture, or returns "".
func (c *checker) checkImport(pkg string, level int, imported string, test bool) string {
	target, inModule := strings.CutPrefix(imported, c.module+"/")
	if imported == c.module {
		target, inModule = ".", true
	}
	if !inModule {
		if !test && slices.ContainsFunc(c.arch.Forbidden[pkg], func(p string) bool { return under(imported, p) }) {
			return fmt.Sprintf("%s must not import %s", pkg, imported)
		}
		if level <= c.arch.Pure && !test && slices.ContainsFunc(c.arch.Impure, func(p string) bool { return under(imported, p) }) {
			return fmt.Sprintf("%s is on level %d and must not import %s", pkg, level, imported)
		}
		return ""
	}
	if slices.Contains(c.arch.TestSupport, target) {
		if test {
			return ""
		}
		return fmt.Sprintf("%s imports %s, which is for tests only", pkg, target)
	}
	if target == pkg || test && c.sharesTests(pkg) && c.sharesTests(target) { // an external test package
		return ""
	}
	targetLevel, known := c.level(target)
	switch {
	case !known:
		return fmt.Sprintf("%s imports %s, which has no level", pkg, target)
	case targetLevel > level:
		return fmt.Sprintf("%s on level %d imports %s on level %d", pkg, level, target, targetLevel)
	case targetLevel == level && !c.siblings(pkg, target):
		return fmt.Sprintf("%s imports its sibling %s on level %d", pkg, target, level)
	}
	return ""
}

// checkState reports what a pure package must not have: init functions and uninitialized globals.
func (c *checker) checkState(pkg string, level int, file *ast.File) {
	for _, decl := range file.Decls {
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			if decl.Recv == nil && decl.Name.Name == "init" {
				c.report(decl.Pos(), "%s is on level %d and must not have an init function", pkg, level)
			}
		case *ast.GenDecl:
			for _, spec := range decl.Specs {
				value, ok := spec.(*ast.ValueSpec)
				if ok && decl.Tok == token.VAR && len(value.Values) == 0 && !embeds(decl.Doc) && !embeds(value.Doc) {
					c.report(value.Pos(), "%s is on level %d and must not have an uninitialized global: %s", pkg, level, value.Names[0].Name)
				}
			}
		}
	}
}

// embeds reports whether go:embed initializes a variable.
func embeds(doc *ast.CommentGroup) bool {
	return doc != nil && slices.ContainsFunc(doc.List, func(c *ast.Comment) bool {
		return strings.HasPrefix(c.Text, "//go:embed ")
	})
}

// level returns the level of a package: its own entry in the table, or else the entry of the
// nearest directory above the package.
func (c *checker) level(pkg string) (int, bool) {
	if level, ok := c.arch.Levels[pkg]; ok {
		return level, true
	}
	for dir := path.Dir(pkg); dir != "."; dir = path.Dir(dir) {
		if level, ok := c.arch.Levels[dir+"/..."]; ok {
			return level, true
		}
	}
	return 0, false
}

func (c *checker) sharesTests(pkg string) bool {
	return slices.ContainsFunc(c.arch.SharedTests, func(pattern string) bool { return matches(pattern, pkg) })
}

func (c *checker) siblings(from, to string) bool {
	return slices.ContainsFunc(c.arch.Siblings, func(pair [2]string) bool {
		return matches(pair[0], from) && matches(pair[1], to)
	})
}

// matches reports whether pkg is the pattern or, for dir/..., is below dir.
func matches(pattern, pkg string) bool {
	if dir, ok := strings.CutSuffix(pattern, "/..."); ok {
		return strings.HasPrefix(pkg, dir+"/")
	}
	return pattern == pkg
}

// under reports whether pkg is dir or below it.
func under(pkg, dir string) bool { return pkg == dir || strings.HasPrefix(pkg, dir+"/") }
