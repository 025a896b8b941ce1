package i18n

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var write = flag.Bool("write-messages", false, "write messages/en.json, and add missing texts to the other files without a translation")

// textArgs maps the functions that take a text to the index of the text among the arguments, or to
// the indexes of singular and plural.
var textArgs = map[string][]int{
	"T": {0}, "N": {1, 2}, "t": {1}, "tn": {2, 3}, "say": {0}, "Invalid": {1}, "Forbidden": {0},
}

// root is the directory of the module.
const root = "../.."

// entry is a text that the program uses.
type entry struct {
	one, other string
	at         string // the source line that uses the text
}

func (e entry) isPlural() bool { return e.one != "" }

// TestMessages checks that each message file has exactly the texts that the program uses, with the
// same placeholders.
func TestMessages(t *testing.T) {
	t.Parallel()
	texts := programTexts(t)
	if len(texts) < 100 {
		t.Fatalf("only %d texts found in the program", len(texts))
	}
	if *write {
		writeFiles(t, texts)
	}
	for id, e := range texts {
		if slices.Contains(reserved, strings.ToLower(id)) {
			t.Errorf("%s: %q is a reserved name in go-i18n: add a context", e.at, id)
		}
	}
	for _, l := range languages {
		name := filepath.Join("messages", l.Tag+".json")
		messages := readFile(t, name)
		for id, e := range texts {
			got, ok := messages[id]
			switch {
			case !ok || got["other"] == "":
				t.Errorf("%s lacks %q, used by %s", name, id, e.at)
			case l == English && (got["other"] != shown(e.other) || got["one"] != shown(e.one)):
				t.Errorf("%s has %q for %q, used by %s: run go test ./internal/i18n -write-messages", name, got, id, e.at)
			case e.isPlural() != (len(got) > 1):
				t.Errorf("%s: %q has the plural forms %q, want plural = %t", name, id, got, e.isPlural())
			}
			for form, text := range got {
				checkForm(t, name, id, form, text, e)
			}
		}
		for id := range messages {
			if _, ok := texts[id]; !ok {
				t.Errorf("%s has %q, which the program does not use", name, id)
			}
		}
	}
}

// reserved lists the keys that go-i18n does not read as message IDs.
var reserved = []string{"id", "description", "hash", "leftdelim", "rightdelim", "zero", "one", "two", "few", "many", "other"}

// checkForm reports placeholders that a translation lacks and placeholders that the program does
// not fill.
func checkForm(t *testing.T, name, id, form, text string, e entry) {
	t.Helper()
	values := names(e.other, e.isPlural())
	got, err := compile(text, values)
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return
	}
	uses := map[int]int{} // by index of the value
	for _, p := range got {
		if p.kind != isLiteral {
			uses[p.value]++
		}
	}
	for value, n := range values {
		// A singular may spell out the number, or omit it.
		if uses[n] == 0 && (n >= 0 || strings.Contains(e.other, "{n}") && form == "other") {
			t.Errorf("%s: %q lacks {%s}, which %q has", name, text, value, id)
		}
	}
}

// shown returns a text without its context.
func shown(text string) string {
	text, _, _ = strings.Cut(text, "|")
	return text
}

// programTexts returns the texts in the source of the program, by ID.
func programTexts(t *testing.T) map[string]entry {
	t.Helper()
	all := map[string]entry{}
	add := func(at, one, other string) {
		if first, ok := all[other]; ok && first.one != one {
			t.Errorf("%s and %s have different singulars for %q", first.at, at, other)
		}
		all[other] = entry{one, other, at}
		if _, err := compile(one, names(other, true)); one != "" && err != nil {
			t.Errorf("%s: %v", at, err)
		}
	}
	for _, folder := range []string{"internal/i18n", "internal/social", "internal/web", "internal/app", "internal/mail"} {
		err := filepath.WalkDir(filepath.Join(root, folder), func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil || d.IsDir() || strings.HasSuffix(path, "_test.go"):
			case strings.HasSuffix(path, ".go"):
				goTexts(t, path, add)
			case strings.HasSuffix(path, ".js"):
				source, err := os.ReadFile(path)
				if err != nil {
					return err
				}
				texts, err := scriptTexts(source)
				if err != nil {
					t.Errorf("%s: %v", path, err)
				}
				for _, text := range texts {
					add(strings.TrimPrefix(path, root+"/"), text.one, text.id)
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// goTexts calls add for each text in a Go file.
func goTexts(t *testing.T, path string, add func(at, one, other string)) {
	t.Helper()
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, path, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if f, ok := n.(*ast.FuncDecl); ok && textArgs[f.Name.Name] != nil {
			return false // the function forwards its caller's text
		}
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		name := ""
		switch f := call.Fun.(type) {
		case *ast.Ident:
			name = f.Name
		case *ast.SelectorExpr:
			name = f.Sel.Name
		}
		at := set.Position(call.Pos())
		where := fmt.Sprintf("%s:%d", strings.TrimPrefix(path, root+"/"), at.Line)
		if indexes, ok := textArgs[name]; ok && len(call.Args) > indexes[len(indexes)-1] {
			var texts []string
			for _, i := range indexes {
				if text, ok := literal(call.Args[i]); ok {
					texts = append(texts, text)
				}
			}
			if len(texts) < len(indexes) {
				t.Errorf("%s: the text passed to %s must be a string literal", where, name)
				return true
			}
			one, other := "", texts[0]
			if len(texts) == 2 {
				one, other = texts[0], texts[1]
			}
			if values := len(call.Args) - indexes[len(indexes)-1] - 1; !call.Ellipsis.IsValid() && values != 0 && values != count(other, one != "") {
				t.Errorf("%s: %q gets %d arguments, want %d", where, other, values, count(other, one != ""))
			}
			add(where, one, other)
		}
		return true
	})
}

// count returns the number of arguments that a text takes, without the number that N takes.
func count(id string, plural bool) int {
	n := len(names(id, plural))
	if plural {
		n--
	}
	return n
}

// literal returns the value of a string literal or of a concatenation of string literals.
func literal(e ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		return text, err == nil && e.Kind == token.STRING
	case *ast.BinaryExpr:
		a, okX := literal(e.X)
		b, okY := literal(e.Y)
		return a + b, okX && okY
	}
	return "", false
}

// readFile returns the plural forms of each text in a message file.
func readFile(t *testing.T, name string) map[string]map[string]string {
	t.Helper()
	body, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var raw map[string]any
	if err := json.Unmarshal(body, &raw); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	all := map[string]map[string]string{}
	for id, value := range raw {
		forms := map[string]string{}
		switch value := value.(type) {
		case string:
			forms["other"] = value
		case map[string]any:
			for form, text := range value {
				forms[form] = fmt.Sprint(text)
			}
		}
		all[id] = forms
	}
	return all
}

// writeFiles writes the English file and adds missing texts to the other files without a
// translation.
func writeFiles(t *testing.T, texts map[string]entry) {
	t.Helper()
	for _, l := range languages {
		name := filepath.Join("messages", l.Tag+".json")
		previous := readFile(t, name)
		out := map[string]any{}
		for id, e := range texts {
			text := previous[id]
			if l == English {
				text = map[string]string{"other": shown(e.other)}
				if e.isPlural() {
					text["one"] = shown(e.one)
				}
			}
			switch {
			case text == nil && e.isPlural():
				out[id] = map[string]string{"one": "", "other": ""}
			case text == nil:
				out[id] = ""
			case e.isPlural():
				out[id] = text
			default:
				out[id] = text["other"]
			}
		}
		var body bytes.Buffer
		encoder := json.NewEncoder(&body)
		encoder.SetEscapeHTML(false)
		encoder.SetIndent("", "  ")
		if err := encoder.Encode(out); err != nil { // sorted by ID
			t.Fatal(err)
		}
		if err := os.WriteFile(name, body.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %d texts", name, len(slices.Collect(maps.Keys(out))))
	}
}
