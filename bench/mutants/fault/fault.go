// Package fault has a list of faults, each of which breaks a promise of the documentation.
// They are planted one at a time: see command mutants, and the Cluster lab.
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

// Fault is a fault in the program. Its code takes the place of one that occurs once in a file.
type Fault struct {
	Name string
	What string // the fault in words

	Document string // below docs
	Promise  string // a quotation of it: what the fault breaks

	File   string // a Go file or a Lua script
	Anchor string // occurs once in the file
	// With is what replaces it. In a Go file it is planted only if plant.On reports so, with the
	// name of the fault, or plant.Int returns its first number.
	With string

	Likely []string // the packages whose tests are the first to look for it

	Lab    bool     // the Cluster lab finds it, too
	Breaks []string // the faults of the lab that this one needs; without them, there are none
}

// Variable is the environment variable that has the name of the fault that is planted. A fault in a
// script needs those of Environment.
const Variable = "PLANTED_FAULT"

// hooks are where scripts get their text: there a fault in a script is planted.
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

// Package is the import path of the package of the fault.
func (f *Fault) Package() string { return "retwis/" + filepath.ToSlash(filepath.Dir(f.File)) }

func (f *Fault) isLua() bool { return strings.HasSuffix(f.File, ".lua") }

// Overlay writes the program with all faults, none of which is active without Environment, to a
// directory, and returns the file for the flag -overlay of the go command. root is where the
// source is, which stays as it is. The error names all faults that do not fit it.
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

// Environment returns the variables that plant a fault in a program that was compiled with an
// overlay; those of the zero Fault plant none.
func (f *Fault) Environment() []string {
	variables := []string{Variable + "=" + f.Name}
	if f.isLua() {
		variables = append(variables, "PLANTED_WITHOUT="+f.Anchor, "PLANTED_WITH="+f.With)
	}
	return variables
}

// planted returns the Go files with faults, by their names below root.
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
				wrong = append(wrong, fmt.Errorf("%s: %s this %d times, not once:\n%s", f.Name, where, n, f.Anchor))
			}
		}
		source, err := os.ReadFile(filepath.Join(root, f.File))
		if err != nil {
			wrong = append(wrong, fmt.Errorf("%s: %w", f.Name, err))
			continue
		}
		once(string(source), f.File+" has")
		if f.isLua() {
			// A script is sent in one text with others, which can be changed by a test.
			once(scripts, "the scripts have")
			continue
		}
		if files[f.File] == "" {
			at := clause.FindIndex(source)[1]
			files[f.File] = string(source[:at]) + "\n\nimport \"retwis/internal/plant\"\n" + string(source[at:])
		}
		once(files[f.File], "beside other faults, "+f.File+" has")
		files[f.File] = strings.Replace(files[f.File], f.Anchor, f.With, 1)
	}
	return files, errors.Join(wrong...)
}

var clause = regexp.MustCompile(`(?m)^package \w+$`)

// allScripts returns the text of all scripts.
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

// plantSource is the source of package plant. It does not depend on the list, so that another fault in
// a script compiles nothing.
const plantSource = `// Package plant has the faults.
package plant

import (
	"os"
	"strings"
)

var (
	planted       = os.Getenv("` + Variable + `")
	without, with = os.Getenv("PLANTED_WITHOUT"), os.Getenv("PLANTED_WITH")
)

// On reports whether a fault is planted.
func On(name string) bool { return planted == name }

// Int returns a number where a fault is planted, and another one where it is not.
func Int(name string, with, without int) int {
	if On(name) {
		return with
	}
	return without
}

// Lua returns a script with the fault that is planted.
func Lua(source string) string { return strings.Replace(source, without, with, 1) }
`

// Check returns an error for each fault whose place is not in the source below root any more,
// or whose promise is not in the documentation.
func Check(root string, faults []Fault) error {
	_, err := planted(root, faults)
	wrong := []error{err}
	seen := map[string]bool{}
	for _, f := range faults {
		if seen[f.Name] {
			wrong = append(wrong, fmt.Errorf("%s: two faults have this name", f.Name))
		}
		seen[f.Name] = true
		if named := strings.Contains(f.With, "plant.On(\""+f.Name+"\")") || strings.Contains(f.With, "plant.Int(\""+f.Name+"\", "); !f.isLua() && !named {
			wrong = append(wrong, fmt.Errorf("%s: its code does not ask plant.On or plant.Int for it", f.Name))
		}
		text, err := os.ReadFile(filepath.Join(root, "docs", f.Document))
		if err != nil {
			wrong = append(wrong, fmt.Errorf("%s: %w", f.Name, err))
		} else if !strings.Contains(oneLine(string(text)), oneLine(f.Promise)) {
			wrong = append(wrong, fmt.Errorf("%s: docs/%s does not promise this:\n%s", f.Name, f.Document, f.Promise))
		}
		for _, p := range f.Likely {
			if tests, _ := filepath.Glob(filepath.Join(root, p, "*_test.go")); len(tests) == 0 {
				wrong = append(wrong, fmt.Errorf("%s: %s has no tests", f.Name, p))
			}
		}
	}
	return errors.Join(wrong...)
}

// oneLine returns a text without line breaks.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
