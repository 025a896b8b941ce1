package arch

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestNoTestAssertsSeconds checks that no test fails or gives up after a fixed number of seconds or
// minutes, because a slow machine may need longer. Files that import testing/synctest are excluded
// because time is simulated in a bubble. Tests of the long run are excluded, too.
func TestNoTestAssertsSeconds(t *testing.T) {
	t.Parallel()
	err := filepath.WalkDir("../..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") || strings.HasSuffix(path, "_long_test.go") {
			return err
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, nil, 0)
		if err != nil {
			return err
		}
		for _, at := range secondsIn(file) {
			t.Errorf("%s: a test fails or gives up because of elapsed time", set.Position(at))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// secondsIn returns the positions at which a file compares an elapsed time with a limit or checks a
// deadline.
func secondsIn(file *ast.File) (positions []token.Pos) {
	for _, i := range file.Imports {
		if i.Path.Value == `"testing/synctest"` {
			return nil
		}
	}
	elapsed := map[string]bool{} // variables that hold an elapsed time
	ast.Inspect(file, func(n ast.Node) bool {
		if assigned, ok := n.(*ast.AssignStmt); ok && len(assigned.Lhs) == len(assigned.Rhs) {
			for i, value := range assigned.Rhs {
				if name, ok := assigned.Lhs[i].(*ast.Ident); ok && isElapsed(value, nil) {
					elapsed[name.Name] = true
				}
			}
		}
		return true
	})
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BinaryExpr:
			switch n.Op {
			case token.GTR, token.GEQ:
				if isElapsed(n.X, elapsed) && isShort(n.Y) {
					positions = append(positions, n.Pos())
				}
			}
		case *ast.CallExpr:
			if called, ok := n.Fun.(*ast.SelectorExpr); ok && (called.Sel.Name == "Before" || called.Sel.Name == "After") && isCall(called.X, "Now") {
				positions = append(positions, n.Pos())
			}
		}
		return true
	})
	return positions
}

// isElapsed reports whether an expression contains an elapsed time or a variable that holds an
// elapsed time.
func isElapsed(e ast.Expr, variables map[string]bool) bool {
	found := false
	ast.Inspect(e, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Ident:
			found = found || variables[n.Name]
		case *ast.CallExpr:
			found = found || isCall(n, "Since")
		case *ast.FuncLit:
			return false
		}
		return true
	})
	return found
}

// isShort reports whether an expression contains a unit of time below an hour.
func isShort(e ast.Expr) bool {
	found := false
	ast.Inspect(e, func(n ast.Node) bool {
		unit, ok := n.(*ast.SelectorExpr)
		found = found || ok && fmt.Sprint(unit.X) == "time" && slices.Contains([]string{"Millisecond", "Second", "Minute"}, unit.Sel.Name)
		return !found
	})
	return found
}

// isCall reports whether an expression calls the named function of package time.
func isCall(e ast.Expr, name string) bool {
	call, ok := e.(*ast.CallExpr)
	if !ok {
		return false
	}
	called, ok := call.Fun.(*ast.SelectorExpr)
	return ok && called.Sel.Name == name && fmt.Sprint(called.X) == "time"
}

func TestSecondsIn(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]int{
		`if time.Since(began) > time.Second {}`:                               1,
		`took := time.Since(began); if took > time.Second {}`:                 1,
		`for time.Now().Before(end) {}`:                                       1,
		`t.Log(time.Since(began)); if 1 < 2 {}`:                               0,
		`done := func() time.Duration { return time.Since(began) }; _ = done`: 0,
	} {
		file, err := parser.ParseFile(token.NewFileSet(), "", "package p; func f() { "+body+" }", 0)
		if err != nil {
			t.Fatal(err)
		}
		if got := len(secondsIn(file)); got != want {
			t.Errorf("%s: found %d positions, want %d", body, got, want)
		}
	}
}
