package operator

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"siteapi/integrations/cms"
)

// seedCMS puts the documents of the sample company into a dataset that has no content of
// its own. It may be repeated: documents that exist stay as they are.
func seedCMS(ctx context.Context, c *call) error {
	driver, err := c.OpenCMS(c.settings)
	if err != nil {
		return err
	}

	seeder, ok := driver.(cms.Seeder)
	if !ok {
		c.say("CMS_DRIVER=%s needs no sample: development writes it to the content file", c.settings.CMSDriver)
		return nil
	}

	var docs []json.RawMessage
	if err := json.Unmarshal(c.Sample, &docs); err != nil {
		return fmt.Errorf("reading the sample: %w", err)
	}
	ids, types := make([]string, len(docs)), []string{}
	for i, raw := range docs {
		var doc cms.Document
		if doc, err = cms.Decode(raw, func(string) string { return "" }); err != nil {
			return fmt.Errorf("reading the sample: %w", err)
		}
		ids[i], types = doc.ID, append(types, doc.Type)
	}
	slices.Sort(types)

	existing, err := seeder.IDs(ctx, slices.Compact(types))
	if err != nil {
		return err
	}
	for _, id := range existing {
		if !slices.Contains(ids, id) {
			return finding(fmt.Sprintf("%s has content of its own, such as %s: nothing was added",
				c.dataset(), id))
		}
	}

	missing := len(docs) - len(existing)
	if missing == 0 {
		c.say("%s has all documents of the sample company: nothing was added", c.dataset())
		return nil
	}
	if !c.confirmed("Publish %d documents of the sample company in %s?", missing, c.dataset()) {
		return finding("nothing was added")
	}
	if err := seeder.Seed(ctx, docs); err != nil {
		return err
	}

	c.say("%d documents were added to %s: replace the sample company by yours in Studio, and add its logo",
		missing, c.dataset())
	return nil
}

// dataset names the dataset that is written to.
func (c *call) dataset() string {
	return fmt.Sprintf("dataset %s of project %s", c.settings.SanityDataset, c.settings.SanityProjectID)
}

// confirmed asks a question on standard input, unless --yes is given.
func (c *call) confirmed(question string, args ...any) bool {
	if c.on("yes") {
		return true
	}

	c.say(question+" [y/N]", args...)
	_ = c.out.Flush() // a failure is reported at the end of the command
	answer, _ := bufio.NewReader(c.InOrStdin()).ReadString('\n')
	answer = strings.ToLower(strings.TrimSpace(answer))
	return answer == "y" || answer == "yes"
}
