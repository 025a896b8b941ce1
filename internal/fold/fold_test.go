package fold_test

import (
	"strings"
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
		"ʙᴀᴅᴡᴏʀᴅ":        "badword",
	} {
		if got := fold.Letters(fold.Case(text)); got != want {
			t.Errorf("Letters(Case(%q)) = %q, want %q", text, got, want)
		}
	}
}

func TestHost(t *testing.T) {
	t.Parallel()
	for typed, want := range map[string]string{
		"Example.COM.":                        "example.com",
		"größe.test":                          "xn--gre-6ka8i.test",
		"ｅｖｉｌ.com":                            "evil.com",
		"a_b.ｅｖｉｌｓｉｔｅ.com":                    "a_b.evilsite.com",
		"ab--cd.ｅｖｉｌｓｉｔｅ.com":                 "ab--cd.evilsite.com",
		"-a.ｅｖｉｌｓｉｔｅ.com":                     "-a.evilsite.com",
		"xn--a.ｅｖｉｌｓｉｔｅ.com":                  "xn--a.evilsite.com",
		"evil\u00adsite。com":                  "evilsite.com",
		strings.Repeat("a", 70) + ".ｅｖｉｌ.com": strings.Repeat("a", 70) + ".evil.com",
		"": "",
	} {
		if got := fold.Host(typed); got != want {
			t.Errorf("Host(%q) = %q, want %q", typed, got, want)
		}
	}
}

func TestApostrophes(t *testing.T) {
	t.Parallel()
	for _, r := range "'‘’ʻʼ" {
		if !fold.IsApostrophe(r) {
			t.Errorf("IsApostrophe(%q) = false", r)
		}
	}
	if fold.IsApostrophe('"') || fold.IsASCII("é") || !fold.IsASCII("e'") {
		t.Error("IsApostrophe or IsASCII returned the wrong result")
	}
}
