import assert from 'node:assert/strict';
import { type BrowserAnswer, type BrowserRequest, browserRequest } from './browser-request.ts';
import { TEST_API_KEY } from './test-world.ts';

/** The console's page in a browser: it has a cookie, and a token in its session storage. */
export class ConsoleBrowser {
  readonly baseUrl: string;
  readonly cookie: string;
  readonly token: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers field by field
  readonly answer: any;

  private constructor(baseUrl: string, loggedIn: BrowserAnswer) {
    this.baseUrl = baseUrl;
    this.cookie = (loggedIn.cookies[0] ?? '').split(';')[0] ?? '';
    this.token = loggedIn.body.token;
    this.answer = loggedIn.body;
  }

  static async logIn(baseUrl: string, apiKey = TEST_API_KEY, headers = {}): Promise<ConsoleBrowser> {
    const loggedIn = await postSession(baseUrl, apiKey, headers);
    assert.equal(loggedIn.status, 201, loggedIn.bytes.toString());
    return new ConsoleBrowser(baseUrl, loggedIn);
  }

  /** As the page sends it; `headers` replace those that it would have, and '' removes one. */
  send(method: string, path: string, options: BrowserRequest = {}, baseUrl = this.baseUrl): Promise<BrowserAnswer> {
    const headers = {
      cookie: this.cookie,
      'postern-console-token': this.token,
      'service-version': '2',
      ...(method !== 'GET' && { origin: baseUrl }),
      ...options.headers,
    };
    const sent = Object.fromEntries(Object.entries(headers).filter(([, value]) => value !== ''));
    return browserRequest(`${baseUrl}${path}`, { ...options, method, headers: sent });
  }
}

export function postSession(baseUrl: string, apiKey: unknown, headers = {}): Promise<BrowserAnswer> {
  return browserRequest(`${baseUrl}/console/session`, {
    method: 'POST',
    headers: { origin: baseUrl, 'user-agent': 'Test', ...headers },
    body: { api_key: apiKey },
  });
}
