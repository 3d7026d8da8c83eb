// What a front end on Relay asks: a page of leads that it extends, and a page of documents with their number.
import { type Environment, fetchQuery, graphql } from "relay-runtime";
import type { leadsContentQuery } from "../build/relay/leadsContentQuery.graphql";
import type { leadsQuery } from "../build/relay/leadsQuery.graphql";

const leadsDocument = graphql`
  query leadsQuery($filter: LeadFilter, $first: Int!, $after: String) {
    leads(filter: $filter, first: $first, after: $after) @connection(key: "leads_leads") {
      edges {
        node {
          id
          reference
        }
      }
    }
  }
`;

const contentDocument = graphql`
  query leadsContentQuery($documentType: String!, $locale: Locale!) {
    contentPage(documentType: $documentType, locale: $locale) {
      total
      documents {
        id
        fields
      }
    }
  }
`;

export async function references(environment: Environment, first: number): Promise<string[]> {
  const data = await fetchQuery<leadsQuery>(environment, leadsDocument, { first }).toPromise();
  return data?.leads.edges.map((edge) => edge.node.reference) ?? [];
}

export async function total(environment: Environment, documentType: string): Promise<number> {
  const variables = { documentType, locale: "en" } as const;
  const data = await fetchQuery<leadsContentQuery>(environment, contentDocument, variables).toPromise();
  return data?.contentPage.total ?? 0;
}
