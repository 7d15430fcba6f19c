import { lineDiff } from './line-diff.ts';

const SIGNS = { same: ' ', added: '+', removed: '−' };
const MEANINGS = { same: 'unchanged', added: 'added', removed: 'removed' };

/** Two documents line by line. Null stands for none: a creation or a deletion. */
export function Diff({ before, after, label }: { before: unknown; after: unknown; label: string }) {
  const lines = lineDiff(textOf(before), textOf(after));
  if (lines.every(({ kind }) => kind === 'same')) return <p class="muted">No difference.</p>;
  return (
    <section class="diff" aria-label={label}>
      <table>
        <tbody>
          {lines.map(({ kind, text }, index) => (
            <tr key={index} class={kind}>
              <td>
                <span aria-hidden="true">{SIGNS[kind]}</span>
                <span class="hidden-text">{MEANINGS[kind]}</span>
              </td>
              <td dir="auto">{text}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function textOf(document: unknown): string {
  return document === null || document === undefined ? '' : JSON.stringify(document, null, 2);
}
