package auth_test

import (
	"strings"
	"testing"

	"retwis/internal/social/auth"
)

func TestIsCommon(t *testing.T) {
	t.Parallel()
	for _, typed := range []string{
		"password", "PASSWORD", "Passw0rd", "p@ssw0rd!", "password123", "passwordpassword", "12345678", "87654321",
		"        ", "aaaaaaaa", "abababab", "qwertyuiop", "letmein123", "sunshine", "football1", "trustno1", "abcdefgh",
		"iloveyou", "Jennifer99", "strength", "ｐａｓｓｗｏｒｄ", "!!monkey!!", "1234567890",
	} {
		if !auth.IsCommon(typed) {
			t.Errorf("IsCommon(%q) = false, want true", typed)
		}
	}
	for _, typed := range []string{
		"correct horse", "correct horse battery staple", "engine-engine", "k3j4h5k3", "sunshine-82746193",
		"über den Wolken", "密码很长很长很长", strings.Repeat("abcdefgh ", 12),
	} {
		if auth.IsCommon(typed) {
			t.Errorf("IsCommon(%q) = true, want false", typed)
		}
	}
}

func TestIsName(t *testing.T) {
	t.Parallel()
	for typed, want := range map[string]bool{
		"AntirezX": false, "antirez1": true, "4ntirez": true, "antirezantirez": true, "retwis2024": true, "Retwis!!": true,
		"a correct horse": false, "antirez loves redis": false,
	} {
		if got := auth.IsName(typed, "Antirez", "Retwis", ""); got != want {
			t.Errorf("IsName(%q) = %v, want %v", typed, got, want)
		}
	}
}

func BenchmarkIsCommon(b *testing.B) {
	long := strings.Repeat("correct horse ", 9)
	for b.Loop() {
		auth.IsCommon(long)
	}
}
