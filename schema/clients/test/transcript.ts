/** A request and its response, as sent and received. */
export interface Exchange {
  method: string;
  url: URL;
  requestHeaders: Headers;
  requestBody: string;
  status: number;
  contentType: string;
  headers: Headers;
  body: string;
}

/** Returns the real fetch, and a list in which it records requests and responses. */
export function recordingFetch(): { fetch: typeof fetch; transcript: Exchange[] } {
  const transcript: Exchange[] = [];
  const recording: typeof fetch = async (input, init) => {
    const request = new Request(input, init);
    const requestBody = await request.clone().text();
    const response = await fetch(request);
    transcript.push({
      method: request.method,
      url: new URL(request.url),
      requestHeaders: request.headers,
      requestBody,
      status: response.status,
      contentType: response.headers.get("content-type") ?? "",
      headers: response.headers,
      body: await response.clone().text(),
    });
    return response;
  };
  return { fetch: recording, transcript };
}
