package gqlhttp

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"
	"github.com/vektah/gqlparser/v2/validator"
	"github.com/vektah/gqlparser/v2/validator/rules"

	"siteapi/schema"
)

type rule = validator.Rule

// Names of the rules about values written into a document. The executor reports these
// better: all at once, each with its path.
const (
	ruleValues   = "ValuesOfCorrectType"
	ruleRequired = "ProvidedRequiredArguments"
)

// withoutSuggestions ends the names of rules that keep the schema's names to themselves.
const withoutSuggestions = "WithoutSuggestions"

// validationRules returns the rules of the GraphQL specification in a fixed order. The
// rule about unknown fields never makes suggestions: the contract words its message.
func validationRules(suggestions bool) []rule {
	quiet := []rule{rules.FieldsOnCorrectTypeRuleWithoutSuggestions}
	if !suggestions {
		quiet = append(quiet,
			rules.KnownArgumentNamesRuleWithoutSuggestions,
			rules.KnownTypeNamesRuleWithoutSuggestions,
			rules.ScalarLeafsRuleWithoutSuggestions,
			rules.ValuesOfCorrectTypeRuleWithoutSuggestions,
		)
	}
	set := rules.NewDefaultRules()
	for _, r := range quiet {
		set.RemoveRule(strings.TrimSuffix(r.Name, withoutSuggestions))
		set.AddRule(r.Name, r.RuleFunc)
	}
	var list []rule
	for name, f := range set.GetInner() {
		list = append(list, rule{Name: strings.TrimSuffix(name, withoutSuggestions), RuleFunc: f})
	}
	slices.SortFunc(list, func(a, b rule) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// validate applies all rules to a document and links it to the schema.
func (d *Documents) validate(doc *ast.QueryDocument) gqlerror.List {
	var errs gqlerror.List
	var counts [2]int // of errors, and of those about values
	observers := &validator.Events{}
	for _, r := range d.rules {
		count := &counts[0]
		if aboutValues(r.Name) {
			count = &counts[1]
		}
		r.RuleFunc(observers, func(options ...validator.ErrorOption) {
			if *count++; *count > maxErrors {
				return // a hostile document can have thousands
			}
			err := &gqlerror.Error{Rule: r.Name}
			for _, option := range options {
				option(err)
			}
			errs = append(errs, err)
		})
	}
	validator.Walk(d.policy.Schema, doc, observers)
	return errs
}

// valuesOnly reports whether nothing but values written into the document are wrong.
func valuesOnly(errs gqlerror.List) bool {
	for _, err := range errs {
		if !aboutValues(err.Rule) {
			return false
		}
	}
	return true
}

func aboutValues(rule string) bool { return rule == ruleValues || rule == ruleRequired }

// What a client is told at most.
const (
	maxErrors  = 20
	maxMessage = 500 // bytes; the parser repeats what it stumbled over
)

// presentable gives errors their code and keeps them short.
func presentable(errs gqlerror.List) gqlerror.List {
	errs = errs[:min(len(errs), maxErrors)]
	for _, err := range errs {
		err.Message = shorten(err.Message)
		_ = coded(err, schema.CodeBadUserInput)
	}
	return errs
}

// shorten cuts a text between two characters.
func shorten(text string) string {
	if len(text) <= maxMessage {
		return text
	}
	cut := maxMessage
	for cut > 0 && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + "…"
}
