// What the files use of packages that a site has, so that they can be checked without installing these.
declare module '@sanity/client' {
  interface SanityClient {
    fetch<T>(query: string): Promise<T>
  }
  export function createClient(options: {
    projectId: string
    dataset: string
    apiVersion: string
    useCdn: boolean
    token: string
  }): SanityClient
}

declare module '@sanity/preview-url-secret' {
  import type {createClient} from '@sanity/client'
  export function validatePreviewUrl(
    client: ReturnType<typeof createClient>,
    url: string,
  ): Promise<{isValid: boolean; redirectTo?: string; studioPreviewPerspective?: string | null}>
}

declare module 'next/headers' {
  export function draftMode(): Promise<{isEnabled: boolean; enable(): void; disable(): void}>
}

declare module 'next/navigation' {
  export function redirect(path: string): never
  export function useRouter(): {refresh(): void}
}

declare module 'astro' {
  export interface Cookies {
    get(name: string): {value: string} | undefined
    set(
      name: string,
      value: string,
      options: {path: string; httpOnly: boolean; secure: boolean; sameSite: 'none'; partitioned: boolean},
    ): void
    delete(name: string, options: {path: string}): void
  }
  interface APIContext {
    request: Request
    cookies: Cookies
    redirect(path: string): Response
  }
  export type APIRoute = (context: APIContext) => Response | Promise<Response>
}

// The environment of Node, as far as it is used.
declare const process: {env: Record<string, string | undefined>}
interface RequestInit {
  next?: {tags: string[]}
}
