import { escapedHtml, linkButton } from '../../../lib/http/plain-page.ts';
import type { OwnAnswer } from '../../contract/serves-paths.ts';
import { htmlPage } from './page.ts';

/** The fragment never reaches a server: only a script can carry it over. Everything else is in the link. */
const SCRIPT =
  "const a=document.getElementById('go');location.replace(a.href+(location.hash.length>1?'&fragment='+encodeURIComponent(location.hash.slice(1)):''))";

/** Visible for a moment on the way to the provider. */
export function loginPage(goUrl: string): OwnAnswer {
  return htmlPage({
    title: 'Logging in',
    head: `<noscript><meta http-equiv="refresh" content="0; url=${escapedHtml(goUrl)}"></noscript>`,
    body: `<p>Redirecting to the login page. If nothing happens, use the button.</p>${linkButton('Continue', goUrl, 'go')}`,
    script: SCRIPT,
  });
}
