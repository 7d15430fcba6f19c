import { useEffect, useState } from 'preact/hooks';
import { type ApiError, asApiError } from '../../api/api-error.ts';
import { get } from '../../api/request.ts';
import { type ConsoleConfig, logIn } from '../../api/session.ts';
import { endedBecause } from '../../api/session-token.ts';
import { useLoaded } from '../../api/use-loaded.ts';
import { Icon } from '../../components/icon.tsx';
import { ErrorNotice, Notice } from '../../components/notice.tsx';
import { submitted } from '../../format/text.ts';
import { LOGIN } from '../../router/location.ts';

/** The key is exchanged for a session and is kept nowhere. */
export function LoginPage() {
  const [error, setError] = useState<ApiError | null>(null);
  const [isBusy, setBusy] = useState(false);
  const config = useLoaded('config', (abort) => get<ConsoleConfig>('/console/config', abort));
  useEffect(() => {
    document.title = 'Log in · Postern';
  }, []);
  const submit = async (form: HTMLFormElement): Promise<void> => {
    const key = submitted(form, 'api_key');
    form.reset();
    setBusy(true);
    setError(null);
    try {
      await logIn(key);
    } catch (failure) {
      setError(asApiError(failure));
    } finally {
      setBusy(false);
    }
  };
  return (
    <main class="sign-in">
      <form
        class="card"
        onSubmit={(event) => {
          event.preventDefault();
          void submit(event.currentTarget);
        }}
      >
        <h1 class="line" tabIndex={-1}>
          <Icon name="gate" size={24} /> Postern console
        </h1>
        {endedBecause.value !== '' && <Notice tone="warn">{endedBecause.value}</Notice>}
        {error !== null && <ErrorNotice error={error} />}
        {config.data?.oidc === true && (
          <a class="button primary" href={LOGIN}>
            {config.data.passkeys === true ? 'Log in with a passkey' : 'Log in with your organization'}
          </a>
        )}
        <div class="field">
          <label for="api_key">API key</label>
          <input
            id="api_key"
            name="api_key"
            type="password"
            autocomplete="off"
            required
            aria-describedby="api_key-hint"
          />
          <span class="hint" id="api_key-hint">
            The first start of the server wrote a key to <code>first-api-key</code> in the data directory.{' '}
            <code>postern open</code> on the server's machine logs you in with it. The console offers what the scopes of
            the key allow.
          </span>
        </div>
        <button type="submit" class={config.data?.oidc === true ? '' : 'primary'} disabled={isBusy}>
          {isBusy ? 'Logging in …' : 'Log in'}
        </button>
        <span class="hint">{config.data === null ? ' ' : `Version ${config.data.version}`}</span>
      </form>
    </main>
  );
}
