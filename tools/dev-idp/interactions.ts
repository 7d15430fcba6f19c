import type { IncomingMessage, ServerResponse } from 'node:http';
import type Provider from 'oidc-provider';
import { loginPage, messagePage, PAGE_POLICY } from './pages.ts';
import type { TestUser } from './test-users.ts';

const MAX_FORM_BYTES = 4096;

/** The page between the authorization request and its response: choose a user, or deny. */
export async function answerInteraction(
  provider: Provider,
  users: readonly TestUser[],
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const interaction = await provider.interactionDetails(request, response).catch(() => null);
  if (interaction === null) {
    const words = 'This login has expired or was started in another browser. Go back to the site and start again.';
    return showPage(response, 400, messagePage('No such login', [words]));
  }
  // Requested by prompt=consent; everybody agrees.
  if (interaction.prompt.name !== 'login') return provider.interactionFinished(request, response, { consent: {} });
  if (request.method !== 'POST') {
    const page = loginPage(`/interaction/${interaction.uid}`, String(interaction.params['client_id']), users);
    return showPage(response, 200, page);
  }
  const form = await readForm(request);
  if (form.has('deny')) {
    const denial = { error: 'access_denied', error_description: 'the user denied access' };
    return provider.interactionFinished(request, response, denial, { mergeWithLastSubmission: false });
  }
  const user = users.find(({ id }) => id === form.get('user'));
  if (user === undefined) return showPage(response, 400, messagePage('No such user', ['Go back and pick one.']));
  return provider.interactionFinished(request, response, { login: { accountId: user.id } });
}

export function showPage(response: ServerResponse, status: number, html: string): void {
  response.writeHead(status, {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': PAGE_POLICY,
    'cache-control': 'no-store',
  });
  response.end(html);
}

async function readForm(request: IncomingMessage): Promise<URLSearchParams> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > MAX_FORM_BYTES) throw new Error('the form is too long');
    chunks.push(chunk);
  }
  return new URLSearchParams(Buffer.concat(chunks).toString());
}
