package shell

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/spf13/pflag"
)

// nameVariables adds the names of variables to the help of their flags.
func (c *Command) nameVariables() {
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if c.variables(f.Name) {
			f.Usage += fmt.Sprintf(" [%s]", c.Variable(f.Name))
		}
	})
}

// setFromEnv sets each flag that is not on the command line to the value of its variable, unless
// the value is empty.
func (c *Command) setFromEnv(flags *pflag.FlagSet, variables func(flag string) bool) error {
	var firstErr error
	flags.VisitAll(func(f *pflag.Flag) {
		if firstErr != nil || f.Changed || !variables(f.Name) {
			return
		}
		value := c.Getenv(c.Variable(f.Name))
		if value == "" {
			return
		}
		if err := f.Value.Set(value); err != nil {
			firstErr = Usage(fmt.Errorf("invalid value %q of the variable %s: %w", value, c.Variable(f.Name), plain(f, err)))
		}
	})
	return firstErr
}

// Variable returns the name of the variable that sets a flag of a site command.
func Variable(flag string) string {
	return "RETWIS_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// FlagError explains an error in a flag on the command line.
func FlagError(cmd *cobra.Command, err error) error {
	if cmd.HasSubCommands() { // a flag of an unknown command is unknown, too
		if unknown := UnknownCommand(cmd, cmd.Flags().Args()); unknown != nil {
			return unknown
		}
	}
	var invalid *pflag.InvalidValueError
	if !errors.As(err, &invalid) {
		return err
	}
	f := invalid.GetFlag()
	name := "--" + f.Name
	if f.Shorthand != "" {
		name = "-" + f.Shorthand + ", " + name
	}
	return fmt.Errorf("invalid argument %q for %q flag: %w", invalid.GetValue(), name, plain(f, invalid.Unwrap()))
}

// plain replaces Go's parse errors for values of the usual types.
func plain(f *pflag.Flag, err error) error {
	switch f.Value.Type() {
	case "int", "int64":
		if errors.Is(err, strconv.ErrRange) {
			return errors.New("the number is too large")
		}
		return errors.New("use a whole number, such as 10")
	case "float64":
		return errors.New("use a number, such as 2.5")
	case "duration":
		return errors.New("use a time with a unit, such as 90s, 15m or 72h")
	case "bool":
		return errors.New("use true or false")
	}
	return err
}
