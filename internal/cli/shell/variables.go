package shell

import (
	"fmt"
	"strings"

	"github.com/spf13/pflag"
)

// nameVariables names in the help the variables that set flags.
func nameVariables(flags *pflag.FlagSet, variables func(flag string) bool) {
	flags.VisitAll(func(f *pflag.Flag) {
		if variables(f.Name) {
			f.Usage += fmt.Sprintf(" [%s]", Variable(f.Name))
		}
	})
}

// setFromEnv sets each flag that is not on the command line from its variable,
// unless that is empty.
func setFromEnv(flags *pflag.FlagSet, getenv func(string) string, variables func(flag string) bool) error {
	var wrong error
	flags.VisitAll(func(f *pflag.Flag) {
		if wrong != nil || f.Changed || !variables(f.Name) {
			return
		}
		value := getenv(Variable(f.Name))
		if value == "" {
			return
		}
		if err := f.Value.Set(value); err != nil {
			wrong = Usage(fmt.Errorf("invalid value %q of the variable %s: %w", value, Variable(f.Name), err))
		}
	})
	return wrong
}

// Variable returns the name of the variable that sets a flag.
func Variable(flag string) string {
	return "RETWIS_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}
