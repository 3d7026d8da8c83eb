// Package operators resolves the fields about operators themselves: the audit of their
// actions, their logins and their names. Other packages record in the audit what their
// fields do.
package operators

import (
	"context"
	"slices"
	"strings"

	"github.com/rs/zerolog"

	"siteapi/integrations/store"
	"siteapi/schema"
	"siteapi/schema/request"
)

// Resolver resolves the fields about operators.
type Resolver struct {
	Store  *store.Store
	Tokens []request.OperatorToken // tokens that have the name of their holder
	Log    zerolog.Logger
}

// IsViewer reports whether the caller must not get the id of a lead, since the id opens the
// PDF.
func IsViewer(ctx context.Context) bool {
	return !request.CallerFrom(ctx).Operator.Role.SeesPersonal()
}

// CheckOwner returns an error unless leads may be assigned to an address: that of an
// operator with an account or a named token, or of the owner of a lead. Otherwise a message of
// a visitor could make an assistant send mail to any address.
func (r *Resolver) CheckOwner(ctx context.Context, owner string) error {
	if owner == "" {
		return nil
	}
	known, err := r.LeadOwners(ctx)
	if err != nil || slices.Contains(known, owner) {
		return err
	}
	return unknown("owner", known,
		"; an owner must have signed in with an account, or the address must be a name in ADMIN_TOKENS")
}

// LeadOwners resolves the root field `leadOwners`.
func (r *Resolver) LeadOwners(ctx context.Context) ([]string, error) {
	known, err := r.Store.Known(ctx, "owner")
	if err != nil {
		return nil, err
	}

	for _, t := range r.Tokens {
		if address := t.Name(); strings.Contains(address, "@") {
			known = append(known, address)
		}
	}
	slices.Sort(known)
	return append([]string{}, slices.Compact(known)...), nil
}

// Origins returns the stored spellings of a source and of a campaign, by which leads or
// sessions are filtered.
func (r *Resolver) Origins(
	ctx context.Context, source, campaign *string,
) (sources, campaigns []string, err error) {
	if sources, err = r.Spellings(ctx, "source", source); err == nil {
		campaigns, err = r.Spellings(ctx, "campaign", campaign)
	}
	return sources, campaigns, err
}

// Spellings returns the stored spellings of the value of a filter, regardless of letter case.
// A value that nothing has is an error that names those that exist. A nil value is no
// filter, and an empty one is what has no value.
func (r *Resolver) Spellings(ctx context.Context, argument string, value *string) ([]string, error) {
	switch {
	case value == nil:
		return nil, nil
	case *value == "":
		return []string{""}, nil
	}

	known, err := r.Store.Known(ctx, argument)
	alike := slices.DeleteFunc(slices.Clone(known),
		func(s string) bool { return !strings.EqualFold(s, *value) })
	if err == nil && len(alike) == 0 && len(known) > 0 {
		// A value that few visitors had could identify one to a viewer.
		if IsViewer(ctx) {
			known = nil
		}
		err = unknown(argument, known, "")
	}
	return append(alike, *value), err
}

// unknown returns the error of an argument with a value that nothing has. It names some that
// exist.
func unknown(argument string, known []string, explanation string) error {
	invalid := schema.NotAllowed(argument, known[:min(len(known), schema.MaxFieldErrors)])
	if len(known) == 0 {
		invalid.Message = "is not known"
	}
	invalid.Message += explanation
	refused := schema.BadInput(invalid)
	refused.Message = "The " + argument + " " + invalid.Message + "."
	return refused
}

// OperatorNames resolves the root field `operatorNames`.
func (r *Resolver) OperatorNames(ctx context.Context) ([]string, error) {
	names, err := r.Store.Operators(ctx)
	return append([]string{}, names...), err
}
