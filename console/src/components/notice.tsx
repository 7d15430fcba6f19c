import type { ComponentChildren } from 'preact';
import { type ApiError, adviceFor } from '../api/api-error.ts';
import { labelOf } from '../schema/json-schema.ts';

export function Notice({ tone = '', children }: { tone?: '' | 'ok' | 'warn' | 'danger'; children: ComponentChildren }) {
  return <div class={`notice ${tone}`}>{children}</div>;
}

/** What went wrong, what to do, and what to look for in the log. */
export function ErrorNotice({ error, retry }: { error: ApiError; retry?: () => void }) {
  const { operation_id: operation, ...details } = error.details;
  return (
    <div class="notice danger" role="alert">
      <div class="stack-small">
        <strong>{error.message}</strong>
        <span>
          {adviceFor(error)}
          {Object.entries(details).map(([name, value]) => ` ${labelOf(name)}: ${value}.`)}
        </span>
        <span class="hint">
          {error.code}
          {operation !== undefined && ` · operation ${operation}`}
        </span>
        {retry !== undefined && (
          <div>
            <button type="button" class="small" onClick={retry}>
              Try again
            </button>
          </div>
        )}
      </div>
    </div>
  );
}

export function NotAvailable({ what }: { what: string }) {
  return (
    <div class="notice">
      {what} is not available on this server. Update the server, or enable the feature in its settings.
    </div>
  );
}
