// Declares the parts of `sanity/structure` used by structure.ts; see sanity.d.ts.
interface ListItem {
  child(document: DocumentNode): ListItem
  getId(): string | undefined
}

interface DocumentNode {
  schemaType(name: string): DocumentNode
  documentId(id: string): DocumentNode
}

interface List {
  title(title: string): List
  items(items: (ListItem | Divider)[]): List
}

interface Divider {
  type: 'divider'
}

interface StructureBuilder {
  list(): List
  divider(): Divider
  document(): DocumentNode
  documentTypeListItem(type: string): ListItem
  documentTypeListItems(): ListItem[]
}

export type StructureResolver = (S: StructureBuilder) => List

export function structureTool(options: {structure: StructureResolver}): {name: string}
