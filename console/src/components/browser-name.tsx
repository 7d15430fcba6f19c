import { browserText } from '../format/browser-text.ts';

/** Where somebody logged in: the browser in a few words, and the address. */
export function BrowserName({ userAgent, address }: { userAgent: string; address: string }) {
  return (
    <span class="stack-none">
      {userAgent !== '' && <span title={userAgent}>{browserText(userAgent)}</span>}
      <span class="mono hint">{address}</span>
    </span>
  );
}
