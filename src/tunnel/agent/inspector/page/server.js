const TOKEN = document.querySelector('meta[name="postern-inspector-token"]').content;

/** Throws an `Error` with the server's message. */
export async function ask(path, options = {}) {
  const response = await fetch(path, options);
  if (response.status === 204) return null;
  const answer = await response.json();
  if (!response.ok) throw new Error(answer.message);
  return answer;
}

export function change(method, body) {
  const headers = { 'content-type': 'application/json', 'postern-inspector-token': TOKEN };
  return ask('/api/requests/http', { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) });
}
