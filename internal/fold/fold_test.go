package fold_test

import (
	"testing"

	"retwis/internal/fold"
)

func TestLetters(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"Straße":         "strasse",
		"ＦＵＬＬ":           "full",
		"Crème Brûlée":   "creme brulee",
		"Łódź, Ærø":      "lodz, aero",
		"ЁЛКА":           "елка",
		"Ὀδυσσεύς":       "οδυσσευσ",
		"שָׁלוֹם":        "שלום",
		"مُحَمَّد":       "محمد",
		"हिन्दी":         "हिन्दी",
		"ｶﾞｷﾞ":           "ガギ",
		"한국":             "한국",
		"ﬁnal ½":         "final 1⁄2",
		"plain ascii 42": "plain ascii 42",
	} {
		if got := fold.Letters(fold.Case(text)); got != want {
			t.Errorf("%q becomes %q, expected %q", text, got, want)
		}
	}
}

func TestApostrophes(t *testing.T) {
	t.Parallel()
	for _, r := range "'‘’ʻʼ" {
		if !fold.IsApostrophe(r) {
			t.Errorf("%q is not an apostrophe", r)
		}
	}
	if fold.IsApostrophe('"') || fold.IsASCII("é") || !fold.IsASCII("e'") {
		t.Error("wrong characters")
	}
}
