import { refusalOf, request, send } from './request.ts';
import { endedBecause, forgetSession, keepSessionToken, type Session, session, sessionToken } from './session-token.ts';

export interface ConsoleConfig {
  readonly oidc: boolean;
  /** The provider of the console is this server's identity host. */
  readonly passkeys?: boolean;
  readonly version: string;
  readonly base_url: string;
}

export async function signIn(apiKey: string): Promise<void> {
  const response = await send('POST', '/console/session', {
    headers: { 'content-type': 'application/json', 'service-version': '2' },
    body: JSON.stringify({ api_key: apiKey }),
  });
  if (!response.ok) throw await refusalOf(response);
  const { token, ...rest } = (await response.json()) as Session & { token: string };
  keepSessionToken(token);
  endedBecause.value = '';
  session.value = rest;
}

/** After a reload: the token is in the session storage, the cookie in the browser. */
export async function resumeSession(): Promise<void> {
  if (sessionToken() === null) {
    session.value = null;
    return;
  }
  try {
    session.value = (await request<Session>('GET', '/console/session')).data;
  } catch {
    forgetSession();
  }
}

export async function signOut(): Promise<void> {
  try {
    await request('DELETE', '/console/session');
  } finally {
    session.value = null;
    forgetSession();
  }
}
