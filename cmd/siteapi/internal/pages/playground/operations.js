// The prepared operations of the playground. A test compares them with the schema, and their tokens with @auth.

/** The session that the examples track and submit. Each visit to the page has its own. */
const session = `playground-${Math.random().toString(36).slice(2)}`;

const examples = [
  {
    query: `# Site settings
# Contact data, logo, links, address and opening hours.
query SiteSettings {
  SiteSettings(id: "siteSettings") {
    contactPhones {
      number
      label {
        en
        es
        ro
      }
      displayLocation
    }
    contactPhone
    contactEmail
    logo {
      asset {
        url
      }
    }
    socialLinks {
      facebook
      twitter
      linkedin
      instagram
      github
    }
    address {
      street
      city
      state
      zipCode
      country
    }
    businessHours {
      monday
      tuesday
      wednesday
      thursday
      friday
      saturday
      sunday
    }
  }
}
`,
  },
  {
    query: `# Content
# Published documents of a type, in a language.
query Content($documentType: String!, $locale: Locale! = en) {
  content(documentType: $documentType, locale: $locale) {
    id
    type
    locale
    updatedAt
    fields
  }
}
`,
    variables: {
      documentType: "heroSection",
      locale: "es",
    },
  },
  {
    query: `# A page of content
# The latest documents of a type, and how many there are.
query ContentPage($documentType: String!, $first: Int = 2) {
  contentPage(documentType: $documentType, orderBy: ["-_updatedAt"], first: $first) {
    total
    documents {
      id
      fields
    }
  }
}
`,
    variables: {
      documentType: "quoteOption",
    },
  },
  {
    query: `# Estimate the price of a visitor's choices
# By the rules that the site's editors publish.
query EstimateQuote($selections: EstimateSelectionsInput!, $locale: Locale) {
  estimateQuote(selections: $selections, locale: $locale) {
    min
    max
    currency
    lines {
      field
      slug
      label
      amount
    }
    unpriced
    validUntil
    revision
  }
}
`,
    variables: {
      selections: {
        projectType: "web-app",
        features: ["auth", "payments"],
      },
      locale: "ro",
    },
  },
  {
    query: `# The choices of the calculator
# With labels, prices and units, as a form needs them.
query QuoteOptions($locale: Locale! = en) {
  quoteOptions(locale: $locale) {
    field
    slug
    label
    price
    percent
    unit
    unitPrice
    tiers {
      upTo
      unitPrice
    }
    minQuantity
    maxQuantity
    step
  }
}
`,
    variables: {
      locale: "ro",
    },
  },
  {
    query: `# Track a visitor's choices
# May be incomplete; sent at every change.
mutation TrackQuote($input: TrackQuoteInput!) {
  trackQuote(input: $input) {
    success
    sessionId
  }
}
`,
    variables: {
      input: {
        sessionId: session,
        selections: {
          projectType: "web-app",
          features: ["auth", "payments"],
        },
        estimate: { min: 15300, max: 20700, currency: "EUR" },
        formData: { firstName: "Ana" },
      },
    },
  },
  {
    query: `# Submit a quote request
# Take the submissionId to the next tab.
mutation SubmitQuote($input: SubmitQuoteInput!) {
  submitQuote(input: $input) {
    success
    submissionId
    pdfUrl
    quoteUrl
  }
}
`,
    variables: {
      input: {
        sessionId: session,
        contact: {
          firstName: "Ana",
          lastName: "Ionescu",
          email: "ana@example.com",
          phone: "+40 712 345 678",
          company: "Exemplu SRL",
        },
        selections: {
          projectType: "web-app",
          features: ["auth", "payments"],
          complexity: "medium",
          timeline: "3-months",
        },
        estimate: { min: 17800, max: 24000, currency: "EUR" },
        locale: "ro",
      },
    },
  },
  {
    query: `# The PDF of a quote
# Add the field "content" for its bytes, in base64.
# As a download: /api/quote/pdf?id=<submissionId>
query QuotePdf($id: ID!, $locale: Locale) {
  quotePdf(id: $id, locale: $locale) {
    fileName
    contentType
    size
    etag
    locale
  }
}
`,
    variables: {
      id: "<submissionId>",
      locale: "ro",
    },
  },
  {
    query: `# The page of a quote
# In a browser: /api/quote/page?id=<submissionId>
query QuotePage($id: ID!, $locale: Locale) {
  quotePage(id: $id, locale: $locale) {
    contentType
    locale
    content
  }
}
`,
    variables: {
      id: "<submissionId>",
      locale: "ro",
    },
  },
  {
    query: `# Withdraw a consent of a quote
mutation WithdrawQuoteConsent($id: ID!, $purpose: String!) {
  withdrawQuoteConsent(id: $id, purpose: $purpose) {
    changed
    url
  }
}
`,
    variables: {
      id: "<submissionId>",
      purpose: "marketing",
    },
  },
  {
    query: `# Ask for the deletion of a quote
mutation RequestQuoteDeletion($id: ID!) {
  requestQuoteDeletion(id: $id) {
    changed
    url
  }
}
`,
    variables: {
      id: "<submissionId>",
    },
  },
  {
    query: `# Cache statistics
query CacheStats {
  cacheStats {
    success
    stats {
      type
      size
      available
    }
  }
}
`,
  },
  {
    query: `# Clear the cache
# Needs the cache token, as a bearer token.
mutation ClearCache($all: Boolean, $pattern: String) {
  clearCache(all: $all, pattern: $pattern) {
    success
    cleared
  }
}
`,
    variables: {
      pattern: "content:*",
    },
    token: "cache",
  },
  {
    query: `# Invalidate a document type
# Needs the cache token, as a bearer token.
mutation InvalidateCache($input: InvalidateCacheInput!) {
  invalidateCache(input: $input) {
    success
    invalidated
  }
}
`,
    variables: {
      input: {
        type: "documentType",
        documentType: "heroSection",
        locale: "en",
      },
    },
    token: "cache",
  },
  {
    query: `# Webhook of the CMS
# Needs the webhook secret, as a bearer token.
mutation ReceiveCmsWebhook($payload: JSON!) {
  receiveCmsWebhook(payload: $payload) {
    success
    invalidated
  }
}
`,
    variables: {
      payload: {
        _id: "heroSection-es",
        _type: "heroSection",
        language: "es",
      },
    },
    token: "webhook",
  },
];

/**
 * Returns the examples with their variables as text, the kind of their token, and the token; empty strings if there are
 * none.
 * @param {{cacheToken?: string, webhookToken?: string}} tokens
 */
export function operations(tokens) {
  const bearer = { cache: tokens.cacheToken, webhook: tokens.webhookToken };
  return examples.map(({ query, variables, token }) => ({
    title: query.slice(2, query.indexOf("\n")),
    name: /^(?:query|mutation) (\w+)/m.exec(query)?.[1] ?? "",
    query,
    guard: token ?? "",
    variables: variables ? JSON.stringify(variables, null, 2) : "",
    token: (token && bearer[token]) ?? "",
  }));
}
