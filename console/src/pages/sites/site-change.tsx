import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import type { EdgeOperation } from '../../../../src/publish/edge-operation.ts';
import type { WantedEdge } from '../../../../src/publish/wanted-edge.ts';
import { type ApiError, asApiError } from '../../api/api-error.ts';
import { refreshPendingChange } from '../../api/pending-change.ts';
import { request } from '../../api/request.ts';
import { revisionWith } from '../../api/write.ts';
import { ErrorNotice } from '../../components/notice.tsx';
import { Sentences } from '../../components/sentences.tsx';
import { StepHeading } from '../../components/step-heading.tsx';
import { TrialChoice } from '../../components/trial-choice.tsx';
import type { ChangeProps } from './site-changes.tsx';

interface SiteChangeProps extends ChangeProps {
  readonly title: string;
  /** The first that stands against it; null: none. */
  readonly problem: string | null;
  readonly isUnchanged: boolean;
  /** What will be true after it. */
  readonly sentences: readonly string[];
  readonly plan: () => Promise<{ readonly operations: readonly EdgeOperation[]; readonly people: WantedEdge | null }>;
  /** Somebody wanted to save it. */
  readonly onTried?: () => void;
  readonly children: ComponentChildren;
}

interface Result {
  readonly body: { readonly url?: unknown } | null;
}

/** A form whose consequences stand above its button, saved as one change of the version that is shown. */
export function SiteChange(props: SiteChangeProps) {
  const { answer, title, problem, isUnchanged, sentences, plan, onTried, onCancel, onSaved, children } = props;
  const [error, setError] = useState<ApiError | null>(null);
  const [isBusy, setBusy] = useState(false);
  const [confirmWithin, setConfirmWithin] = useState<string | null>(null);
  const save = async (): Promise<void> => {
    setBusy(true);
    setError(null);
    try {
      const { operations, people } = await plan();
      const path = `/edges/https/${encodeURIComponent(answer.data.id)}`;
      const expected = await revisionWith(path, answer.etag ?? '');
      const { data } = await request<{ revision: number; results: readonly Result[] }>('POST', '/changesets', {
        body: {
          operations,
          expected_revision: expected,
          message: `${title.toLowerCase()}: ${answer.data.hostports[0] ?? ''}`.slice(0, 1024),
          ...(confirmWithin !== null && { confirm_within: confirmWithin }),
        },
      });
      if (confirmWithin !== null) void refreshPendingChange();
      const url = data.results.map(({ body }) => body?.url).find((each) => typeof each === 'string');
      onSaved({ revision: data.revision, sentences, people, guestUrl: typeof url === 'string' ? url : null });
    } catch (failure) {
      setError(asApiError(failure));
      setBusy(false);
    }
  };
  return (
    <form
      class="stack form-page"
      noValidate
      aria-label={title}
      onSubmit={(event) => {
        event.preventDefault();
        onTried?.();
        if (problem === null) void save();
        else event.currentTarget.querySelector<HTMLElement>('[aria-invalid="true"], input, textarea')?.focus();
      }}
    >
      <StepHeading>{title}</StepHeading>
      {error !== null && <ErrorNotice error={error} />}
      {children}
      {problem === null && !isUnchanged && (
        <div role="status">
          <p>Once you save:</p>
          <Sentences all={sentences} />
        </div>
      )}
      <TrialChoice value={confirmWithin} onChange={setConfirmWithin} />
      <div class="line">
        <button type="button" onClick={onCancel}>
          Cancel
        </button>
        <button type="submit" class="primary" disabled={isBusy || isUnchanged}>
          Save
        </button>
      </div>
    </form>
  );
}
