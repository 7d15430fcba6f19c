import type { OwnAnswer } from '../../prepared-module.ts';
import { escaped, htmlPage } from './page.ts';

/** The fragment never reaches a server: only a script can take it along. Everything else is in the link. */
const SCRIPT =
  "const a=document.getElementById('go');location.replace(a.href+(location.hash.length>1?'&fragment='+encodeURIComponent(location.hash.slice(1)):''))";

/** Seen for a moment on the way to the provider. */
export function loginPage(goUrl: string): OwnAnswer {
  const url = escaped(goUrl);
  return htmlPage({
    title: 'Logging in',
    head: `<noscript><meta http-equiv="refresh" content="0; url=${url}"></noscript>`,
    body: `<p>You are being taken to the login.</p><p><a class="button" id="go" href="${url}">Go on</a></p>`,
    script: SCRIPT,
  });
}
