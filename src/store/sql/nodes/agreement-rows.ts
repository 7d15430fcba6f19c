import { execute, insertRows, integer, type Program, statement, text } from '../statements/statement.ts';
import { type CallerTime, nowExpression } from '../statements/store-time.ts';

export type Agreement = Readonly<Record<string, string>>;

/**
 * Compares with what the other nodes agreed on. Without other nodes the values of this one replace it. Under the
 * writers' lock: of two nodes that start together, one is first.
 */
export function* agreeOnFacts(nodeId: string, facts: Agreement, time: CallerTime): Program<Agreement> {
  const count = statement(
    `SELECT count(*) AS others FROM nodes WHERE id <> ? AND has_agreed = 1 AND lease_ends_at_ms > ${nowExpression(time)}`,
    [nodeId],
  );
  const [others, ...rows] = yield { ...count, also: [statement('SELECT name, value FROM node_agreements')] };
  const isAlone = others === undefined || integer(others, 'others') === 0;
  if (isAlone) yield* execute('DELETE FROM node_agreements');
  const agreed = new Map(isAlone ? [] : rows.map((row) => [text(row, 'name'), text(row, 'value')]));
  const names = Object.keys(facts);
  const differing = names.filter((name) => agreed.has(name) && agreed.get(name) !== facts[name]);
  if (differing.length > 0) return Object.fromEntries(differing.map((name) => [name, agreed.get(name) ?? '']));
  const added = names.filter((name) => !agreed.has(name)).map((name) => [name, facts[name] ?? '']);
  yield* insertRows('node_agreements', ['name', 'value'], added);
  yield* execute('UPDATE nodes SET has_agreed = 1 WHERE id = ?', [nodeId]);
  return {};
}
