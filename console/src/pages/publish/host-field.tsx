import { useEffect, useState } from 'preact/hooks';
import { PlainField } from '../../components/form/plain-field.tsx';
import { href } from '../../router/location.ts';
import { hostOf } from './draft.ts';
import { edgeWith } from './publish-request.ts';
import type { DraftProps } from './target-fields.tsx';

const AFTER_TYPING_MS = 300;

interface Taken {
  readonly host: string;
  readonly edgeId: string;
}

/** Says while the host is typed whether it is served already. */
export function HostField({ draft, problems, onChange, port }: DraftProps & { port: number }) {
  const taken = useTaken(problems.host === undefined ? hostOf(draft.host) : '', port);
  return (
    <>
      <PlainField
        id="publish-host"
        label="Host"
        placeholder="app.example.com"
        hint="A name that leads to this server."
        hasFocus
        value={draft.host}
        problem={problems.host ?? (taken === null ? null : `${taken.host} is served already.`)}
        onChange={(host) => onChange({ host })}
      />
      {taken !== null && (
        <p>
          <a href={href(`/sites/${taken.edgeId}`)}>Open {taken.host}</a>
        </p>
      )}
    </>
  );
}

function useTaken(host: string, port: number): Taken | null {
  const [taken, setTaken] = useState<Taken | null>(null);
  useEffect(() => {
    setTaken(null);
    if (host === '') return undefined;
    const controller = new AbortController();
    const timer = setTimeout(() => {
      edgeWith(host, port, controller.signal).then(
        (edge) => {
          if (edge !== null && !controller.signal.aborted) setTaken({ host, edgeId: edge.id });
        },
        // The server rejects it again when the site is published.
        () => {},
      );
    }, AFTER_TYPING_MS);
    return () => {
      clearTimeout(timer);
      controller.abort();
    };
  }, [host, port]);
  return taken;
}
