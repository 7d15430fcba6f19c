import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { planEntry } from '../../../../src/client/publish/people-rules.ts';
import { createBackend, type EdgeOperation, existingBackend } from '../../../../src/client/publish/plan-parts.ts';
import type { WantedEdge } from '../../../../src/client/publish/wanted-edge.ts';
import { type SiteEdge, siteEdgePath, siteRoutePath } from '../../../../src/client/sites.ts';
import { hostNameProblem } from '../../../../src/kit/net/host-name.ts';
import { type ApiError, asApiError } from '../../api/api-error.ts';
import { refreshPendingChange } from '../../api/pending-change.ts';
import { type Answer, request } from '../../api/request.ts';
import { useLoaded } from '../../api/use-loaded.ts';
import type { Document } from '../../api/use-pages.ts';
import { revisionWith } from '../../api/write.ts';
import { PlainField } from '../../components/form/plain-field.tsx';
import { LoadedView } from '../../components/loaded-view.tsx';
import { ErrorNotice } from '../../components/notice.tsx';
import { Sentences } from '../../components/sentences.tsx';
import { StepHeading } from '../../components/step-heading.tsx';
import { TrialChoice } from '../../components/trial-choice.tsx';
import { href } from '../../router/location.ts';
import { type Draft, entryProblems, type ServerFacts, targetProblems, wantedOf } from '../publish/draft.ts';
import { EntryFields } from '../publish/entry-fields.tsx';
import { currentFor } from '../publish/publish-request.ts';
import { entrySentences, targetSentence } from '../publish/sentences.ts';
import { TargetFields } from '../publish/target-fields.tsx';
import { entryDraft, rootRoute, targetDraft } from './draft-of-site.ts';
import type { SiteSaved } from './site-saved-view.tsx';

interface SiteChangeProps extends ChangeProps {
  readonly title: string;
  /** The first that stands against it; null: none. */
  readonly problem: string | null;
  readonly isUnchanged: boolean;
  /** Name of the button that does it. */
  readonly verb?: 'Save' | 'Pause the site' | 'Open the site again' | 'Remove the site';
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
  const { verb = 'Save' } = props;
  const [error, setError] = useState<ApiError | null>(null);
  const [isBusy, setBusy] = useState(false);
  const [confirmWithin, setConfirmWithin] = useState<string | null>(null);
  const save = async (): Promise<void> => {
    setBusy(true);
    setError(null);
    try {
      const { operations, people } = await plan();
      const path = siteEdgePath(encodeURIComponent(answer.data.id));
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
          <p>{verb === 'Save' ? 'Once you save:' : 'Then:'}</p>
          <Sentences all={sentences} />
        </div>
      )}
      <TrialChoice value={confirmWithin} onChange={setConfirmWithin} />
      <div class="line">
        <button type="button" onClick={onCancel}>
          Cancel
        </button>
        <button
          type="submit"
          class={verb === 'Remove the site' ? 'danger' : 'primary'}
          disabled={isBusy || isUnchanged}
        >
          {verb}
        </button>
      </div>
    </form>
  );
}

export interface ChangeProps {
  readonly answer: Answer<SiteEdge>;
  readonly facts: ServerFacts;
  readonly onCancel: () => void;
  readonly onSaved: (saved: SiteSaved) => void;
}

export function HostChange(props: ChangeProps) {
  const { hostports } = props.answer.data;
  const port = props.facts.listenerPort;
  const before = hostports.map((each) => each.replace(`:${port}`, '')).join(', ');
  const [text, setText] = useState(before);
  const hosts = text
    .split(/[\s,]+/)
    .map((each) =>
      each
        .toLowerCase()
        .replace(/^https?:\/\//, '')
        .replace(/\/$/, ''),
    )
    .filter((each) => each !== '');
  const wrong = hosts.map(hostProblem).find((each) => each !== null) ?? null;
  const problem = hosts.length === 0 ? 'Enter a host name, such as app.example.com.' : wrong;
  return (
    <SiteChange
      {...props}
      title="Change the address"
      problem={problem}
      isUnchanged={text === before}
      sentences={[`The site is served at ${hosts.join(', ')}, and nowhere else.`]}
      plan={async () => ({
        operations: [
          {
            method: 'PATCH',
            path: siteEdgePath(props.answer.data.id),
            body: { hostports: hosts.map((each) => (/:\d+$/.test(each) ? each : `${each}:${port}`)) },
          },
        ],
        people: null,
      })}
    >
      <PlainField
        id="site-hosts"
        label="Hosts"
        hint="Names that lead to this server, with commas."
        hasFocus
        value={text}
        problem={problem}
        onChange={setText}
      />
    </SiteChange>
  );
}

function hostProblem(host: string): string | null {
  const problem = hostNameProblem(host.replace(/^\*\./, '').replace(/:\d+$/, ''), 'refused');
  return problem === null ? null : `The name ${host} ${problem}.`;
}

export function TargetChange(props: ChangeProps & { readonly backend: Document | undefined }) {
  const { answer, facts, backend } = props;
  const [draft, setDraft] = useState<Draft>(() => targetDraft(answer.data, backend));
  const route = rootRoute(answer.data);
  if (route === null) return <NoRoot edge={answer.data} />;
  const problems = targetProblems(draft);
  const wanted = wantedOf(draft, facts);
  return (
    <SiteChange
      {...props}
      title="Change where it goes"
      problem={Object.values(problems)[0] ?? null}
      isUnchanged={false}
      sentences={[targetSentence(wanted)]}
      plan={async () => {
        const { target, host } = wanted;
        const path = `${siteRoutePath(answer.data.id, route.id)}/backend`;
        const found = existingBackend(target, await currentFor(wanted));
        if (found !== null || target.kind === 'backend')
          return { operations: [{ method: 'PUT', path, body: { backend_id: found ?? '' } }], people: null };
        const body = { backend_id: { $ref: 0, field: 'id' } };
        return { operations: [createBackend(target, `${host}/`), { method: 'PUT', path, body }], people: null };
      }}
    >
      <TargetFields
        draft={draft}
        problems={problems}
        onChange={(changes) => setDraft((old) => ({ ...old, ...changes }))}
      />
    </SiteChange>
  );
}

export function EntryChange(props: ChangeProps) {
  const { answer, facts } = props;
  const route = rootRoute(answer.data);
  const loaded = useLoaded(`entry of ${answer.data.id} ${answer.etag}`, async () => ({
    draft: route === null ? null : await entryDraft(answer.data, route, facts.ownIssuer),
  }));
  if (route === null) return <NoRoot edge={answer.data} />;
  return (
    <LoadedView loaded={loaded} what="Who may enter">
      {({ draft }) =>
        draft === null ? (
          <p>
            This site has modules or rules that this form does not know.{' '}
            <a href={href(`/edges/${answer.data.id}/routes/${route.id}`)}>Change them one by one</a>
          </p>
        ) : (
          <EntryForm {...props} initial={draft} />
        )
      }
    </LoadedView>
  );
}

function EntryForm(props: ChangeProps & { readonly initial: Draft }) {
  const { answer, facts, initial } = props;
  const [draft, setDraft] = useState<Draft>(initial);
  const [isTried, setTried] = useState(false);
  const problems = entryProblems(draft);
  const wanted = wantedOf(draft, facts);
  const route = rootRoute(answer.data);
  return (
    <SiteChange
      {...props}
      title="Change who may enter"
      problem={Object.values(problems)[0] ?? null}
      isUnchanged={false}
      sentences={entrySentences(wanted)}
      onTried={() => setTried(true)}
      plan={async () => ({
        operations: route === null ? [] : planEntry(wanted, answer.data.id, route),
        people: wanted,
      })}
    >
      <EntryFields
        draft={draft}
        problems={problems}
        facts={facts}
        isTried={isTried}
        onChange={(changes) => setDraft((old) => ({ ...old, ...changes }))}
      />
    </SiteChange>
  );
}

function NoRoot({ edge }: { edge: SiteEdge }) {
  return (
    <p>
      No route of this site takes all paths. <a href={href(`/edges/${edge.id}`)}>Change its routes one by one</a>
    </p>
  );
}
