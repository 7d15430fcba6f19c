import { loadPageAgain } from '../shell/page-round.ts';
import { refusalOf, request, send } from './request.ts';
import { endedBecause, forgetSession, keepSessionToken, type Session, session, sessionToken } from './session-token.ts';

export interface ConsoleConfig {
  readonly oidc: boolean;
  /** The provider of the console is this server's identity host. */
  readonly passkeys?: boolean;
  readonly version: string;
  readonly base_url: string;
}

export async function logIn(apiKey: string): Promise<void> {
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

/** After a reload and in a new tab: the token is in the local storage, the cookie in the browser. */
export async function resumeSession(): Promise<void> {
  const token = sessionToken();
  if (token === null) {
    session.value = null;
    return;
  }
  const former = session.value;
  try {
    const { data } = await request<Session>('GET', '/console/session');
    endedBecause.value = '';
    session.value = data;
    // What is shown was loaded with the rights of somebody else.
    if (former && former.who.name !== data.who.name) loadPageAgain();
  } catch {
    forgetSession(token);
  }
}

export async function logOut(): Promise<void> {
  const token = sessionToken();
  try {
    await request('DELETE', '/console/session');
  } finally {
    session.value = null;
    forgetSession(token);
  }
}
