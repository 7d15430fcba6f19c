import { useState } from 'preact/hooks';
import { type ApiError, asApiError } from '../../api/api-error.ts';
import { useLoaded } from '../../api/use-loaded.ts';
import { LoadedView } from '../../components/loaded-view.tsx';
import { ErrorNotice, Notice } from '../../components/notice.tsx';
import { PageHead } from '../../components/page-head.tsx';
import { type Draft, newDraft, problemsOf, type ServerFacts, wantedOf } from './draft.ts';
import { EntryFields } from './entry-fields.tsx';
import { HostField } from './host-field.tsx';
import { canPublish } from './publish-link.tsx';
import { loadFacts, type Published, publish, wildcardWarning } from './publish-request.ts';
import { PublishedView } from './published-view.tsx';
import { ReviewView } from './review-view.tsx';
import { TargetFields } from './target-fields.tsx';
import { type TargetTest, testTarget } from './test-target.ts';

/**
 * A host, where it goes and who may enter, as one form: edge, route, backend and modules follow from it, in one change.
 */
export function PublishPage() {
  const facts = useLoaded('publish facts', loadFacts);
  return (
    <>
      <PageHead title="Publish a site" crumbs={[['Sites', '/sites']]} />
      {canPublish() ? (
        <LoadedView loaded={facts} what="Publishing">
          {(data) => <Publishing facts={data} />}
        </LoadedView>
      ) : (
        <Notice>To publish a site, log in with a key or a role that may write edges and backends.</Notice>
      )}
    </>
  );
}

type Step =
  | { readonly name: 'form' }
  | { readonly name: 'review'; readonly test: TargetTest | null; readonly warning: string | null }
  | { readonly name: 'done'; readonly published: Published };

function Publishing({ facts }: { facts: ServerFacts }) {
  const [draft, setDraft] = useState<Draft>(newDraft);
  const [step, setStep] = useState<Step>({ name: 'form' });
  const [error, setError] = useState<ApiError | null>(null);
  const [isBusy, setBusy] = useState(false);
  const [isTried, setTried] = useState(false);
  const problems = problemsOf(draft);
  const wanted = wantedOf(draft, facts);
  const attempt = async (act: () => Promise<Step>): Promise<void> => {
    setBusy(true);
    setError(null);
    try {
      setStep(await act());
    } catch (failure) {
      setError(asApiError(failure));
      setStep({ name: 'form' });
    } finally {
      setBusy(false);
    }
  };
  const review = (): Promise<void> =>
    attempt(async () => {
      await publish(wanted, { isRehearsal: true });
      const [test, warning] = await Promise.all([testTarget(draft), wildcardWarning(wanted)]);
      return { name: 'review', test, warning };
    });
  const send = (): Promise<void> =>
    attempt(async () => ({ name: 'done', published: await publish(wanted, { isRehearsal: false }) }));
  const change = (changes: Partial<Draft>): void => {
    setError(null);
    setDraft((old) => ({ ...old, ...changes }));
  };
  if (step.name === 'done') {
    const again = (): void => {
      setDraft(newDraft());
      setStep({ name: 'form' });
    };
    return <PublishedView wanted={wanted} labels={draft.labels} published={step.published} onAgain={again} />;
  }
  if (step.name === 'review') {
    return (
      <ReviewView
        wanted={wanted}
        test={step.test}
        warning={step.warning}
        isBusy={isBusy}
        onBack={() => setStep({ name: 'form' })}
        onPublish={() => void send()}
      />
    );
  }
  const fields = { draft, problems, onChange: change };
  return (
    <form
      class="stack form-page"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        setTried(true);
        if (Object.keys(problems).length === 0) void review();
        else focusProblem(event.currentTarget);
      }}
    >
      {error !== null && <ErrorNotice error={shortened(error)} />}
      <HostField {...fields} port={facts.listenerPort} />
      <TargetFields {...fields} />
      <EntryFields {...fields} facts={facts} isTried={isTried} />
      <div class="line">
        <button type="submit" class="primary" disabled={isBusy}>
          Review
        </button>
      </div>
    </form>
  );
}

/** A field shows its problem when the focus leaves it: visiting each makes all of them visible, the first one last. */
function focusProblem(form: HTMLFormElement): void {
  const inputs = [...form.querySelectorAll<HTMLElement>('input:not([type="radio"]), textarea')];
  for (const input of inputs) input.focus();
  (
    form.querySelector<HTMLElement>('[aria-invalid="true"]') ?? form.querySelector<HTMLElement>('[name="entry"]')
  )?.focus();
}

/** The number of an operation means nothing to a person who filled in a form. */
function shortened(error: ApiError): ApiError {
  const { operation: _, ...details } = error.details;
  return Object.assign(Object.create(error) as ApiError, {
    message: error.message.replace(/^operation \d+: /, ''),
    details,
  });
}
