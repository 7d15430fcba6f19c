import { type IncomingMessage, request } from 'node:http';

export interface BrowserRequest {
  readonly method?: string;
  /** Any header, also those that fetch sets itself, such as Host, Origin and Sec-Fetch-Mode. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

export interface BrowserAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly cookies: readonly string[];
  readonly bytes: Buffer;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers field by field
  readonly body: any;
}

/** One request on its own connection, with exactly these headers. */
export function browserRequest(url: string, options: BrowserRequest = {}): Promise<BrowserAnswer> {
  const { method = 'GET', headers = {}, body } = options;
  const text = body === undefined ? null : JSON.stringify(body);
  return new Promise((resolve, reject) => {
    const sent = request(
      url,
      { method, agent: false, headers: { ...(text !== null && { 'content-type': 'application/json' }), ...headers } },
      (response) => void answerOf(response).then(resolve, reject),
    );
    sent.on('error', reject);
    sent.end(text ?? undefined);
  });
}

async function answerOf(response: IncomingMessage): Promise<BrowserAnswer> {
  const bytes = Buffer.concat(await Array.fromAsync(response as AsyncIterable<Buffer>));
  const { 'set-cookie': cookies = [], ...others } = response.headers;
  const isJson = /^application\/json/.test(others['content-type'] ?? '') && bytes.length > 0;
  return {
    status: response.statusCode ?? 0,
    headers: others as Record<string, string | undefined>,
    cookies,
    bytes,
    body: isJson ? JSON.parse(bytes.toString()) : null,
  };
}
