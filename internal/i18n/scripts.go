package i18n

import (
	"encoding/json"
	"regexp"
)

// scriptCall matches a text in a script: t("…") or tn(n, "…", "…").
var scriptCall = regexp.MustCompile(`\bt\(("(?:[^"\\]|\\.)*")|\btn\([^"]*?, ("(?:[^"\\]|\\.)*"), ("(?:[^"\\]|\\.)*")`)

// scriptText is a text of a script. Its plural, or its only form, is the id.
type scriptText struct{ one, id string }

// textsOfScript returns the texts of a script in JavaScript.
func textsOfScript(source []byte) (texts []scriptText, err error) {
	for _, found := range scriptCall.FindAllSubmatch(source, -1) {
		var of [3]string
		for i, quoted := range found[1:] {
			if len(quoted) > 0 {
				if err := json.Unmarshal(quoted, &of[i]); err != nil {
					return nil, err
				}
			}
		}
		texts = append(texts, scriptText{one: of[1], id: of[0] + of[2]})
	}
	return texts, nil
}

// Script returns the script that defines the texts of other scripts in the language; nil for
// English, whose texts are in those scripts. A plural is an object with its forms, by their names
// in CLDR.
func (l *Language) Script(others ...[]byte) ([]byte, error) {
	if l.file == nil {
		return nil, nil
	}
	all := map[string]any{}
	for _, source := range others {
		texts, err := textsOfScript(source)
		if err != nil {
			return nil, err
		}
		for _, t := range texts {
			all[t.id] = l.file[t.id]
		}
	}
	body, err := json.Marshal(all)
	return append(append([]byte("globalThis.texts="), body...), ';'), err
}
