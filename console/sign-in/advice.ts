const ADVICE: Readonly<Record<string, string>> = {
  NotAllowedError:
    'The passkey was not used: the dialog was closed, it took too long, or this device has no passkey for this site. Try again. If you have none here, use another device, or ask an administrator for an invitation.',
  InvalidStateError:
    'This device has a passkey for your account already. Sign in with it, or add one on another device.',
  NotSupportedError: 'This device offers no kind of passkey that this site accepts. Use a phone or a security key.',
  ConstraintError:
    'This device cannot verify you. Set up a screen lock, a PIN or a fingerprint on it, or use a phone or a security key with a PIN.',
  SecurityError:
    'Passkeys do not work under the address that this page was opened with. Open it with the address that your administrator gave you.',
};

const NO_PASSKEYS = 'This browser has no passkeys. Use a current version of Chrome, Edge, Firefox or Safari.';

/** Chromium refuses passkeys on a page whose certificate it does not trust, and says so in the message alone. */
const UNTRUSTED =
  'The browser does not trust the certificate of this site, and offers no passkeys then. Ask an administrator for the certificate authority of this site, install it on this device, and restart the browser. A page that was opened in spite of a warning does not count.';

const NO_ANSWER = 'The server did not answer. Check your connection and try again.';

const NOT_CREATED =
  'No passkey was created: the dialog was closed, it took too long, or this device cannot verify you. Try again. If the device has no screen lock, PIN or fingerprint, set one up, or use another device.';

/** What to do about a ceremony that failed. `isCreation`: a passkey was to be made, not used. */
export function adviceOn(error: unknown, isCreation: boolean): string {
  if (!(error instanceof Error)) return NO_ANSWER;
  if (error.cause === 'server') return error.message;
  // The library wraps the browser's error.
  const { name, message } = error.cause instanceof Error ? error.cause : error;
  if (/certificate error/i.test(message)) return UNTRUSTED;
  if (/not supported in this browser/.test(message)) return NO_PASSKEYS;
  if (isCreation && name === 'NotAllowedError') return NOT_CREATED;
  return ADVICE[name] ?? NO_ANSWER;
}
