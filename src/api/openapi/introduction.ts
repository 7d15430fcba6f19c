/** Rules that apply to every operation, documented once. */
export const introduction = [
  'Manages the HTTPS edges, routes, modules, backends, certificates, keys and events of a Postern server.',
  'Send `Authorization: Bearer <API key>` and `Service-Version: 2` with every request, and `Content-Type: application/json` with every body. `Ngrok-Version` is accepted as another name of `Service-Version`.',
  'Bodies are JSON objects of at most 1 MiB. A field that is not known is refused. A field that is `null` counts as left out, and so does `""` where that is what an unset field reads back as: what GET returned can be sent back with PUT and changes nothing. With PATCH, an empty value that a field cannot have counts as left out too. In an answer, `null` means that there is nothing: a module that is not set, a reference to nothing, a secret that is shown only once.',
  'Lists are newest first. Follow `next_page_uri` until it is null.',
  'A resource and a module come with an `ETag`. Sent back as `If-Match`, it makes sure that nobody else has changed it in between. A create with an `Idempotency-Key` can be repeated safely for 24 hours.',
  'Errors are JSON with a stable `error_code`, a `msg` that says what to do, and `details`. A path that does not exist is 404 `ERR_POSTERN_UNKNOWN_PATH`; a known path with another method is 405 `ERR_POSTERN_METHOD_NOT_ALLOWED`, and `Allow` names the methods that it takes.',
].join('\n\n');
