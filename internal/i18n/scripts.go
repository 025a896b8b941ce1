package i18n

import (
	"encoding/json"
	"regexp"
)

// scriptCall matches a text in JavaScript: t("…") or tn(n, "…", "…").
var scriptCall = regexp.MustCompile(`\bt\(("(?:[^"\\]|\\.)*")|\btn\([^"]*?, ("(?:[^"\\]|\\.)*"), ("(?:[^"\\]|\\.)*")`)

// scriptText is a text of a script. Its ID is the plural, or the only form.
type scriptText struct{ one, id string }

// scriptTexts returns the texts in a JavaScript file.
func scriptTexts(source []byte) (texts []scriptText, err error) {
	for _, found := range scriptCall.FindAllSubmatch(source, -1) {
		var unquoted [3]string // the text of t, and the singular and plural of tn
		for i, quoted := range found[1:] {
			if len(quoted) > 0 {
				if err := json.Unmarshal(quoted, &unquoted[i]); err != nil {
					return nil, err
				}
			}
		}
		texts = append(texts, scriptText{one: unquoted[1], id: unquoted[0] + unquoted[2]})
	}
	return texts, nil
}

// Script returns a script that defines the translations of the texts in other scripts, or nil for
// English, because the other scripts have the English texts. A text with plural forms is an object
// with the CLDR categories as keys.
func (l *Language) Script(others ...[]byte) ([]byte, error) {
	if l.file == nil {
		return nil, nil
	}
	all := map[string]any{}
	for _, source := range others {
		texts, err := scriptTexts(source)
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
