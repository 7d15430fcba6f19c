import { startAuthentication, startRegistration, WebAuthnAbortService } from '@simplewebauthn/browser';
import { adviceOn } from './advice.ts';

/**
 * The script of the pages of the identity host. A form with `data-ceremony` asks the person for a passkey when it is
 * submitted, and takes the answer along in its field `response`. The answer is a navigation, so that the server decides
 * where the browser goes. `tools/generators/sign-in-script.ts` bundles it.
 */
const AUTOFILL_AGAIN_MS = 4 * 60_000;
const LOCAL = new Intl.DateTimeFormat('en-GB', {
  ...{ day: 'numeric', month: 'long', year: 'numeric' },
  ...{ hour: '2-digit', minute: '2-digit' },
});

/** Forms that are being left for a page that does without a passkey. */
const left = new WeakSet<HTMLFormElement>();

for (const form of document.querySelectorAll<HTMLFormElement>('form[data-ceremony]')) {
  const without = form.querySelector<HTMLButtonElement>('button[formaction]');
  form.addEventListener('submit', (event) => {
    // A button with an address of its own does without a passkey: a dialog that still waits for one ends.
    if (event.submitter?.hasAttribute('formaction') === true) {
      left.add(form);
      WebAuthnAbortService.cancelCeremony();
      return;
    }
    event.preventDefault();
    void runCeremony(form);
  });
  form.querySelector<HTMLInputElement>('input[type=email]')?.addEventListener('keydown', (event) => {
    const hasAddress = event.currentTarget instanceof HTMLInputElement && event.currentTarget.value.trim() !== '';
    if (event.key !== 'Enter' || event.isComposing || without === null || !hasAddress) return;
    event.preventDefault();
    void keepsPasskeys().then((keeps) => (keeps ? runCeremony(form) : form.requestSubmit(without)));
  });
  if (form.dataset['autofill'] !== undefined) void offerInField(form);
}

/** The server does not know where the person is. */
for (const time of document.querySelectorAll('time')) {
  const at = new Date(time.dateTime);
  if (Number.isNaN(at.getTime())) continue;
  time.textContent = LOCAL.format(at);
  time.title = `${time.dateTime} (UTC)`;
}

/** Whether this device itself can have a passkey; otherwise Enter would open a dialog that asks for another device. */
async function keepsPasskeys(): Promise<boolean> {
  if (typeof PublicKeyCredential === 'undefined') return false;
  return PublicKeyCredential.isUserVerifyingPlatformAuthenticatorAvailable().catch(() => false);
}

async function runCeremony(form: HTMLFormElement): Promise<void> {
  show(form, '');
  form.setAttribute('aria-busy', 'true');
  const isCreation = form.dataset['ceremony'] === 'create';
  try {
    const optionsJSON = await optionsOf(form);
    const answer = isCreation ? await startRegistration({ optionsJSON }) : await startAuthentication({ optionsJSON });
    send(form, answer);
  } catch (error) {
    if (left.has(form)) return;
    show(form, adviceOn(error, isCreation));
    // The dialog ended what the field offered.
    if (form.dataset['autofill'] !== undefined) void offerInField(form);
  } finally {
    form.removeAttribute('aria-busy');
  }
}

/** Passkeys appear among the suggestions of the address field (conditional mediation). */
async function offerInField(form: HTMLFormElement): Promise<void> {
  const isOffered = await PublicKeyCredential?.isConditionalMediationAvailable?.().catch(() => false);
  if (isOffered !== true) return;
  // A challenge is valid for ten minutes, and a page may be open for longer. A new offer replaces the earlier one.
  const again = setTimeout(() => void offerInField(form), AUTOFILL_AGAIN_MS);
  try {
    const optionsJSON = await optionsOf(form);
    send(form, await startAuthentication({ optionsJSON, useBrowserAutofill: true }));
  } catch {
    // Replaced by the button's dialog or by a later offer; the button reports what is wrong.
  } finally {
    clearTimeout(again);
  }
}

// biome-ignore lint/suspicious/noExplicitAny: the server makes them, and the browser checks them
async function optionsOf(form: HTMLFormElement): Promise<any> {
  const response = await fetch(form.dataset['options'] ?? '', {
    method: 'POST',
    headers: { accept: 'application/json' },
    body: new URLSearchParams(fieldsOf(form)),
  });
  const answer = (await response.json()) as { readonly message?: string; readonly options?: unknown };
  if (!response.ok) throw new Error(answer.message ?? '', { cause: 'server' });
  return answer.options;
}

function fieldsOf(form: HTMLFormElement): [string, string][] {
  return [...new FormData(form)].filter((field): field is [string, string] => typeof field[1] === 'string');
}

function send(form: HTMLFormElement, answer: unknown): void {
  const field = form.elements.namedItem('response');
  if (field instanceof HTMLInputElement) field.value = JSON.stringify(answer);
  // Without the event: this is not another ceremony.
  form.submit();
}

function show(form: HTMLFormElement, text: string): void {
  const alert = form.querySelector('[role=alert]');
  if (alert !== null) alert.textContent = text;
}
