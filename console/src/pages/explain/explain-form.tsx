import type { Question } from './explain-record.ts';

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];

interface ExplainFormProps {
  readonly question: Question;
  readonly isBusy: boolean;
  readonly onChange: (question: Question) => void;
  readonly onAsk: () => void;
}

export function ExplainForm({ question, isBusy, onChange, onAsk }: ExplainFormProps) {
  const set = (name: keyof Question) => (event: { currentTarget: { value: string } }) =>
    onChange({ ...question, [name]: event.currentTarget.value });
  return (
    <form
      class="card"
      aria-label="Request to explain"
      onSubmit={(event) => {
        event.preventDefault();
        onAsk();
      }}
    >
      <div class="body stack-small">
        <div class="field">
          <label for="explain-url">URL</label>
          <input
            id="explain-url"
            required
            spellcheck={false}
            placeholder="app.example.com, or https://app.example.com/path"
            value={question.url}
            onInput={set('url')}
          />
        </div>
        <div class="filters">
          <div class="field">
            <label for="explain-method">Method</label>
            <select id="explain-method" value={question.method} onChange={set('method')}>
              {[...new Set([...METHODS, question.method])].map((method) => (
                <option key={method}>{method}</option>
              ))}
            </select>
          </div>
          <div class="field">
            <label for="explain-address">Client address</label>
            <input id="explain-address" placeholder="your own" value={question.address} onInput={set('address')} />
          </div>
        </div>
        <div class="field">
          <label for="explain-email">As this person (e-mail)</label>
          <input
            id="explain-email"
            placeholder="ana@example.com"
            aria-describedby="explain-email-hint"
            value={question.email}
            onInput={set('email')}
          />
          <span class="hint" id="explain-email-hint">
            They need not have logged in before. Leave it empty for a request without a login.
          </span>
        </div>
        <div class="field">
          <label for="explain-claims">Claims of the person (JSON)</label>
          <input
            id="explain-claims"
            class="mono"
            placeholder={'{"groups": ["ops"]}'}
            spellcheck={false}
            value={question.claims}
            onInput={set('claims')}
          />
        </div>
        <div class="field">
          <label for="explain-headers">Headers, one per line</label>
          <textarea
            id="explain-headers"
            class="mono"
            rows={3}
            placeholder="accept-encoding: br"
            aria-describedby="explain-headers-hint"
            spellcheck={false}
            value={question.headers}
            onInput={set('headers')}
          />
          <span class="hint" id="explain-headers-hint">
            A browser accepts text/html. Remove the line for a program.
          </span>
        </div>
        <details>
          <summary>Client certificate</summary>
          <div class="field">
            <label for="explain-certificate">Certificate in PEM form, and those of its authorities</label>
            <textarea
              id="explain-certificate"
              class="mono"
              rows={4}
              placeholder="-----BEGIN CERTIFICATE-----"
              aria-describedby="explain-certificate-hint"
              spellcheck={false}
              value={question.certificate}
              onInput={set('certificate')}
            />
            <span class="hint" id="explain-certificate-hint">
              For sites with the Mutual TLS module. Never paste a private key: it is not needed.
            </span>
          </div>
        </details>
        <div>
          <button type="submit" class="primary" disabled={isBusy}>
            Explain
          </button>
        </div>
      </div>
    </form>
  );
}
