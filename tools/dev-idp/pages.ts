import { createHash } from 'node:crypto';
import type { TestUser } from './test-users.ts';

const STYLE = `
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
body { max-width: 26rem; margin: 12vh auto; padding: 0 1rem; }
button { font: inherit; display: block; width: 100%; margin: 0 0 .75rem; padding: .6rem 1rem; text-align: left; cursor: pointer; }
small { opacity: .75; }
pre { white-space: pre-wrap; }`;

const SUBMIT = `document.getElementById('op.logoutForm').submit();`;

/**
 * Nothing external, and no script but the one that completes a logout without a click. There is no form-action:
 * browsers also apply it to the redirects after a form, and those lead to the client.
 */
export const PAGE_POLICY = [
  "default-src 'none'",
  `style-src '${hashOf(STYLE)}'`,
  `script-src '${hashOf(SUBMIT)}'`,
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** One click per user; works without scripts. */
export function loginPage(action: string, clientId: string, users: readonly TestUser[]): string {
  const buttons = users.map(
    ({ id, claims }) =>
      `<button name="user" value="${escapeHtml(id)}"><strong>${escapeHtml(nameOf(claims, id))}</strong><br><small>${escapeHtml(short(claims['email']))}</small></button>`,
  );
  return page(
    'Log in',
    `<p>Who do you want to be for <strong>${escapeHtml(clientId)}</strong>?</p>
<form method="post" action="${escapeHtml(action)}">
${buttons.join('\n')}
<button name="deny" value="yes">Deny access</button>
</form>
<p><small>This is a test provider: it asks for no password.</small></p>`,
  );
}

/** `form` comes from oidc-provider, with a known id. */
export function logoutPage(form: string): string {
  return page(
    'Log out',
    `${form}
<input type="hidden" name="logout" value="yes" form="op.logoutForm">
<button form="op.logoutForm">Log out</button>
<script>${SUBMIT}</script>`,
  );
}

export function messagePage(title: string, lines: readonly string[]): string {
  return page(title, lines.map((line) => `<p>${escapeHtml(line)}</p>`).join('\n'));
}

function page(title: string, body: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)} · dev-idp</title>
<style>${STYLE}</style>
</head>
<body>
<h1>${escapeHtml(title)}</h1>
${body}
</body>
</html>
`;
}

/** Tests give users names of 100 KB. */
function short(text: unknown): string {
  return typeof text === 'string' ? text.slice(0, 100) : '';
}

function nameOf(claims: Readonly<Record<string, unknown>>, id: string): string {
  return short(claims['name']) || id;
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

function hashOf(text: string): string {
  return `sha256-${createHash('sha256').update(text).digest('base64')}`;
}
