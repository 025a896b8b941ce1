// Package fault lists faults, each of which breaks a promise of the documentation. Command mutants
// and the Cluster lab plant them, one at a time.
package fault

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// Fault is a fault in the program. It replaces a unique fragment of a file.
type Fault struct {
	Name string
	What string // a description

	Document string // below docs
	Promise  string // a quotation from the document, which the fault violates

	File   string // a Go file or a Lua script
	Anchor string // the fragment, which occurs once in the file
	// With replaces the anchor. In a Go file, the replacement is faulty only if plant.On returns
	// true for the name of the fault, or plant.Int returns its first number.
	With string

	Likely []string // the packages whose tests run first

	Lab    bool     // the Cluster lab also detects the fault
	Breaks []string // the kinds of lab faults needed to detect the fault; if empty, the lab injects none
}

// Variable is the environment variable with the name of the active fault. A fault in a script also
// needs the other variables of Environment.
const Variable = "PLANTED_FAULT"

// hooks are the places that load scripts, where a fault in a script is planted.
var hooks = []Fault{
	{
		Name: "scripts", File: "internal/redis/script/script.go",
		Anchor: "source := strings.Join(sources, \"\")",
		With:   "source := plant.Lua(strings.Join(sources, \"\"))",
	},
	{
		Name: "scripts of redlock", File: "redlock/internal/server/redis.go",
		Anchor: "scripts[k] = script{source: source, sha: sha1Hex(source)}",
		With:   "source = plant.Lua(source)\n\t\tscripts[k] = script{source: source, sha: sha1Hex(source)}",
	},
}

// Package returns the import path of the package with the fault.
func (f *Fault) Package() string { return "retwis/" + filepath.ToSlash(filepath.Dir(f.File)) }

func (f *Fault) isLua() bool { return strings.HasSuffix(f.File, ".lua") }

// Overlay writes copies of the source files below root, with all faults, to dir. It returns the file
// for the -overlay flag of the go command. No fault is active without Environment. The error names
// all faults whose anchors do not match the source.
func Overlay(root, dir string, faults []Fault) (string, error) {
	files, err := planted(root, faults)
	if err != nil {
		return "", err
	}
	replace := map[string]string{}
	for name, source := range files {
		path := filepath.Join(dir, strings.ReplaceAll(name, "/", "_"))
		if err := os.WriteFile(path, []byte(source), 0o600); err != nil {
			return "", err
		}
		replace[filepath.Join(root, name)] = path
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "overlay.json")
	return path, os.WriteFile(path, text, 0o600)
}

// Environment returns the variables that activate the fault in a program compiled with the overlay.
// The variables of the zero Fault activate no fault.
func (f *Fault) Environment() []string {
	variables := []string{Variable + "=" + f.Name}
	if f.isLua() {
		variables = append(variables, "PLANTED_WITHOUT="+f.Anchor, "PLANTED_WITH="+f.With)
	}
	return variables
}

// planted returns the Go files with all faults, by their paths below root.
func planted(root string, faults []Fault) (map[string]string, error) {
	files := map[string]string{"internal/plant/plant.go": plantSource}
	scripts, err := allScripts(root)
	if err != nil {
		return nil, err
	}
	var wrong []error
	for _, f := range append(hooks, faults...) {
		once := func(text, where string) {
			if n := strings.Count(text, f.Anchor); n != 1 {
				wrong = append(wrong, fmt.Errorf("%s: %s the anchor %d times, want once:\n%s", f.Name, where, n, f.Anchor))
			}
		}
		source, err := os.ReadFile(filepath.Join(root, f.File))
		if err != nil {
			wrong = append(wrong, fmt.Errorf("%s: %w", f.Name, err))
			continue
		}
		once(string(source), f.File+" has")
		if f.isLua() {
			// Scripts are sent concatenated, so the anchor must be unique among all of them.
			once(scripts, "the scripts have")
			continue
		}
		if files[f.File] == "" {
			end := packageClause.FindIndex(source)[1]
			files[f.File] = string(source[:end]) + "\n\nimport \"retwis/internal/plant\"\n" + string(source[end:])
		}
		once(files[f.File], "with the other faults, "+f.File+" has")
		files[f.File] = strings.Replace(files[f.File], f.Anchor, f.With, 1)
	}
	return files, errors.Join(wrong...)
}

var packageClause = regexp.MustCompile(`(?m)^package \w+$`)

// allScripts returns the source of all scripts below root.
func allScripts(root string) (string, error) {
	var all strings.Builder
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".lua" {
			return err
		}
		text, err := os.ReadFile(path)
		all.Write(text)
		return err
	})
	return all.String(), err
}

// plantSource is the source of package plant. It does not depend on the list of faults, so that
// activating another fault needs no recompilation.
const plantSource = `// Package plant activates a fault.
package plant

import (
	"os"
	"strings"
)

var (
	planted       = os.Getenv("` + Variable + `")
	without, with = os.Getenv("PLANTED_WITHOUT"), os.Getenv("PLANTED_WITH")
)

// On reports whether the named fault is active.
func On(name string) bool { return planted == name }

// Int returns the first number if the named fault is active, and otherwise the second.
func Int(name string, with, without int) int {
	if On(name) {
		return with
	}
	return without
}

// Lua returns a script with the active fault.
func Lua(source string) string { return strings.Replace(source, without, with, 1) }
`

// Check returns an error for each fault whose anchor is not in the source below root, or whose
// promise is not in the documentation.
func Check(root string, faults []Fault) error {
	_, err := planted(root, faults)
	wrong := []error{err}
	seen := map[string]bool{}
	for _, f := range faults {
		if seen[f.Name] {
			wrong = append(wrong, fmt.Errorf("%s: duplicate name", f.Name))
		}
		seen[f.Name] = true
		if named := strings.Contains(f.With, "plant.On(\""+f.Name+"\")") || strings.Contains(f.With, "plant.Int(\""+f.Name+"\", "); !f.isLua() && !named {
			wrong = append(wrong, fmt.Errorf("%s: the replacement does not call plant.On or plant.Int with this name", f.Name))
		}
		text, err := os.ReadFile(filepath.Join(root, "docs", f.Document))
		if err != nil {
			wrong = append(wrong, fmt.Errorf("%s: %w", f.Name, err))
		} else if !strings.Contains(oneLine(string(text)), oneLine(f.Promise)) {
			wrong = append(wrong, fmt.Errorf("%s: docs/%s does not have this promise:\n%s", f.Name, f.Document, f.Promise))
		}
		for _, p := range f.Likely {
			if tests, _ := filepath.Glob(filepath.Join(root, p, "*_test.go")); len(tests) == 0 {
				wrong = append(wrong, fmt.Errorf("%s: %s has no tests", f.Name, p))
			}
		}
	}
	return errors.Join(wrong...)
}

// oneLine replaces each run of white space with a space.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
