// An application that logs people in with go-oidc and golang.org/x/oauth2, and judges what the identity host of Postern does.
package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
)

var issuer = os.Getenv("POSTERN_ISSUER")

func main() {
	ctx := oidc.ClientContext(context.Background(), &http.Client{Transport: trusting()})
	provider, err := oidc.NewProvider(ctx, issuer)
	check(err, "discovery")
	judgeDiscovery(provider)

	ana := invite("go@example.test", []string{"ops", "judges"})
	ana.refusedWithoutVerification()
	ana.register()

	for _, style := range []oauth2.AuthStyle{oauth2.AuthStyleInHeader, oauth2.AuthStyleInParams} {
		app := newApplication(ctx, provider, map[string]any{"allow_groups": []string{"judges"}}, style)
		judgeLogin(app, ana)
		judgeRefresh(app, ana)
		judgeSecret(app, ana)
	}
	public := newApplication(ctx, provider, map[string]any{"allow_groups": []string{"*"}, "public": true}, oauth2.AuthStyleInParams)
	judgeLogin(public, ana)
	judgeRefresh(public, ana)
	judgePKCE(public, ana)

	app := newApplication(ctx, provider, map[string]any{"allow_groups": []string{"judges"}}, oauth2.AuthStyleInHeader)
	judgePrompts(app, ana)
	judgeRedirectURIs(app, ana)
	judgeLogout(app, public, ana)
	judgeSignOut(app, ana)
	judgeGroups(app, ana)
	judgeDeletion(app, ana)
	fmt.Println("done")
}

func judgeDiscovery(provider *oidc.Provider) {
	var metadata struct {
		Scopes     []string `json:"scopes_supported"`
		Claims     []string `json:"claims_supported"`
		Challenges []string `json:"code_challenge_methods_supported"`
		Responses  []string `json:"response_types_supported"`
		Grants     []string `json:"grant_types_supported"`
		EndSession string   `json:"end_session_endpoint"`
		Logout     bool     `json:"backchannel_logout_supported"`
		Sessions   bool     `json:"backchannel_logout_session_supported"`
	}
	check(provider.Claims(&metadata), "discovery")
	equal(strings.Join(metadata.Challenges, " "), "S256", "PKCE methods")
	equal(strings.Join(metadata.Responses, " "), "code", "response types")
	must(strings.Contains(strings.Join(metadata.Scopes, " "), "groups"), "the scope groups is not announced")
	must(strings.Contains(strings.Join(metadata.Claims, " "), "groups"), "the claim groups is not announced")
	must(strings.Contains(strings.Join(metadata.Grants, " "), "refresh_token"), "refresh is not announced")
	must(metadata.Logout && metadata.Sessions, "back-channel logout is not announced")
	for _, address := range []string{metadata.EndSession, provider.UserInfoEndpoint(), provider.Endpoint().TokenURL, provider.Endpoint().AuthURL} {
		must(strings.HasPrefix(address, issuer+"/"), "an endpoint elsewhere: "+address)
	}
}

// The claims of ID tokens and of userinfo.
type claims struct {
	Email    string   `json:"email"`
	Verified bool     `json:"email_verified"`
	Name     string   `json:"name"`
	Groups   []string `json:"groups"`
	Methods  []string `json:"amr"`
	AuthTime int64    `json:"auth_time"`
	Session  string   `json:"sid"`
}

func judgeLogin(app *application, person *person) *login {
	found := app.logIn(person)
	equal(found.id.Subject, person.id, "sub")
	equal(found.claims.Email, person.email, "email")
	must(found.claims.Verified, "email_verified is false")
	equal(found.claims.Name, "Judge", "name")
	equal(fmt.Sprint(found.claims.Groups), "[ops judges]", "groups")
	equal(fmt.Sprint(found.claims.Methods), "[pop]", "amr")
	must(found.claims.AuthTime > 0 && found.claims.Session != "", "auth_time or sid is missing")
	if found.id.AccessTokenHash != "" {
		check(found.id.VerifyAccessToken(found.token.AccessToken), "at_hash")
	}
	info, err := app.provider.UserInfo(app.ctx, oauth2.StaticTokenSource(found.token))
	check(err, "userinfo")
	var shown claims
	check(info.Claims(&shown), "userinfo")
	equal(info.Subject, person.id, "sub of userinfo")
	equal(shown.Email+" "+fmt.Sprint(info.EmailVerified)+" "+fmt.Sprint(shown.Groups), person.email+" true [ops judges]", "userinfo")
	return found
}

func judgeRefresh(app *application, person *person) {
	first := app.logIn(person)
	second, err := app.refresh(first.token.RefreshToken)
	check(err, "refresh")
	must(second.RefreshToken != "" && second.RefreshToken != first.token.RefreshToken, "the refresh token is not rotated")
	id, err := app.verifier.Verify(app.ctx, second.Extra("id_token").(string))
	check(err, "the ID token of a refresh")
	equal(id.Subject, person.id, "sub after a refresh")
	_, err = app.refresh(first.token.RefreshToken)
	refused(err, "invalid_grant", "a refresh token that was used before")
	_, err = app.refresh(second.RefreshToken)
	refused(err, "invalid_grant", "the refresh token of an ended grant")
	_, err = app.provider.UserInfo(app.ctx, oauth2.StaticTokenSource(second))
	must(err != nil && strings.Contains(err.Error(), "401"), fmt.Sprint("userinfo with an ended grant: ", err))
}

func judgeSecret(app *application, person *person) {
	request := app.authorize(person)
	wrong := app.config
	wrong.ClientSecret = "postern_oc_wrong"
	_, err := wrong.Exchange(app.ctx, request.code, oauth2.VerifierOption(request.verifier))
	refused(err, "invalid_client", "a wrong secret")
	_, err = app.config.Exchange(app.ctx, request.code, oauth2.VerifierOption(request.verifier))
	check(err, "the code after somebody tried a wrong secret")
}

func judgePKCE(app *application, person *person) {
	request := app.authorize(person)
	_, err := app.config.Exchange(app.ctx, request.code, oauth2.VerifierOption(oauth2.GenerateVerifier()))
	refused(err, "invalid_grant", "another verifier")
	request = app.authorize(person)
	_, err = app.config.Exchange(app.ctx, request.code)
	refused(err, "invalid_grant", "no verifier")
	answer := person.browser.open(app.config.AuthCodeURL("state"))
	equal(answer.Query().Get("error"), "invalid_request", "a request without PKCE")
}

func judgePrompts(app *application, person *person) {
	silent := oauth2.SetAuthURLParam("prompt", "none")
	stranger := newBrowser()
	equal(stranger.open(app.start(oauth2.GenerateVerifier(), silent)).Query().Get("error"), "login_required", "prompt=none without a session")

	first := app.logIn(person)
	proofs := person.proofs
	quiet := app.logIn(person, silent)
	equal(quiet.claims.AuthTime, first.claims.AuthTime, "auth_time with prompt=none")
	equal(quiet.claims.Session, first.claims.Session, "sid with prompt=none")
	relaxed := app.logIn(person, oauth2.SetAuthURLParam("max_age", "10000"))
	equal(relaxed.claims.AuthTime, first.claims.AuthTime, "auth_time with a long max_age")
	equal(person.proofs, proofs, "proofs for a session that is young enough")

	// auth_time has seconds.
	time.Sleep(2100 * time.Millisecond)
	for _, option := range []string{"max_age=1", "prompt=login"} {
		name, value, _ := strings.Cut(option, "=")
		proofs = person.proofs
		again := app.logIn(person, oauth2.SetAuthURLParam(name, value))
		equal(person.proofs, proofs+1, "proofs for "+option)
		must(again.claims.AuthTime > first.claims.AuthTime, "auth_time is old with "+option)
	}
	answer := person.browser.open(app.start(oauth2.GenerateVerifier(), oauth2.SetAuthURLParam("max_age", "0"), silent))
	equal(answer.Query().Get("error"), "login_required", "max_age=0 with prompt=none")
}

func judgeRedirectURIs(app *application, person *person) {
	registered := app.config.RedirectURL
	for _, address := range []string{registered + "/", registered + "?a=b", strings.Replace(registered, "127.0.0.1", "localhost", 1), "https://evil.example/"} {
		other := app.config
		other.RedirectURL = address
		response := person.browser.get(other.AuthCodeURL("state", oauth2.S256ChallengeOption(oauth2.GenerateVerifier())))
		equal(response.StatusCode, 400, "the redirect URI "+address)
	}
	request := app.authorize(person)
	other := app.config
	other.RedirectURL = "https://evil.example/"
	_, err := other.Exchange(app.ctx, request.code, oauth2.VerifierOption(request.verifier))
	refused(err, "invalid_grant", "a code with another redirect URI")
}

// RP-initiated logout: the person is asked, all applications of the session hear of it, and the browser returns with the state.
func judgeLogout(app, other *application, person *person) {
	one, two := app.logIn(person), other.logIn(person)
	equal(two.claims.Session, one.claims.Session, "sid of two applications of one session")
	query := url.Values{
		"id_token_hint":            {one.token.Extra("id_token").(string)},
		"post_logout_redirect_uri": {app.server.URL + "/bye"},
		"state":                    {"back"},
	}
	var metadata struct {
		EndSession string `json:"end_session_endpoint"`
	}
	check(app.provider.Claims(&metadata), "discovery")
	wrong := url.Values{"id_token_hint": query["id_token_hint"], "post_logout_redirect_uri": {"https://evil.example/"}}
	equal(person.browser.get(metadata.EndSession+"?"+wrong.Encode()).StatusCode, 400, "a logout that returns elsewhere")
	page := person.browser.get(metadata.EndSession + "?" + query.Encode())
	back := person.browser.submit(issuer+"/session/end/confirm", url.Values{"xsrf": {hidden(page.text, "xsrf")}, "logout": {"yes"}})
	equal(back.Header.Get("location"), app.server.URL+"/bye?state=back", "where the logout returns to")
	app.hears(person, one)
	other.hears(person, two)
	_, err := app.refresh(one.token.RefreshToken)
	refused(err, "invalid_grant", "a refresh after the logout")
	person.isSignedIn = false
}

// An administrator logs the person out: every application hears of it.
func judgeSignOut(app *application, person *person) {
	found := app.logIn(person)
	api("POST", "/user_accounts/"+person.id+"/sign_out", map[string]any{})
	person.isSignedIn = false
	app.hears(person, found)
	_, err := app.refresh(found.token.RefreshToken)
	refused(err, "invalid_grant", "a refresh after a sign-out")
}

func judgeGroups(app *application, person *person) {
	found := app.logIn(person)
	for _, groups := range [][]string{{}, {"others"}} {
		api("PATCH", "/oidc_clients/"+app.config.ClientID, map[string]any{"allow_groups": groups})
		answer := person.browser.open(app.start(oauth2.GenerateVerifier()))
		equal(answer.Query().Get("error"), "access_denied", fmt.Sprint("allow_groups ", groups))
		_, err := app.refresh(found.token.RefreshToken)
		refused(err, "invalid_grant", "a refresh of somebody who may no longer log in")
	}
	api("PATCH", "/oidc_clients/"+app.config.ClientID, map[string]any{"allow_groups": []string{"*"}})
	app.logIn(person)
}

func judgeDeletion(app *application, person *person) {
	found := app.logIn(person)
	api("DELETE", "/oidc_clients/"+app.config.ClientID, nil)
	_, err := app.refresh(found.token.RefreshToken)
	refused(err, "invalid_client", "a deleted application")
	equal(person.browser.get(app.start(oauth2.GenerateVerifier())).StatusCode, 400, "a login at a deleted application")
}

// An application: its own server, which is told of logouts, and its entry in /oidc_clients.
type application struct {
	ctx      context.Context
	provider *oidc.Provider
	config   oauth2.Config
	verifier *oidc.IDTokenVerifier
	server   *httptest.Server
	logouts  chan *oidc.LogoutToken
}

func newApplication(ctx context.Context, provider *oidc.Provider, fields map[string]any, style oauth2.AuthStyle) *application {
	app := &application{ctx: ctx, provider: provider, logouts: make(chan *oidc.LogoutToken, 50)}
	app.server = httptest.NewServer(http.HandlerFunc(func(response http.ResponseWriter, request *http.Request) {
		token, err := app.verifier.VerifyLogout(ctx, request.PostFormValue("logout_token"))
		check(err, "the logout token")
		app.logouts <- token
	}))
	fields["name"] = "go-oidc"
	fields["redirect_uris"] = []string{app.server.URL + "/callback"}
	fields["post_logout_redirect_uris"] = []string{app.server.URL + "/bye"}
	fields["backchannel_logout_uri"] = app.server.URL + "/logout"
	created := api("POST", "/oidc_clients", fields)
	secret, _ := created["client_secret"].(string)
	endpoint := provider.Endpoint()
	endpoint.AuthStyle = style
	app.config = oauth2.Config{
		ClientID:     created["client_id"].(string),
		ClientSecret: secret,
		Endpoint:     endpoint,
		RedirectURL:  app.server.URL + "/callback",
		Scopes:       []string{oidc.ScopeOpenID, "email", "profile", "groups", oidc.ScopeOfflineAccess},
	}
	app.verifier = provider.Verifier(&oidc.Config{ClientID: app.config.ClientID})
	return app
}

type login struct {
	id     *oidc.IDToken
	claims claims
	token  *oauth2.Token
}

type authorized struct{ code, verifier, nonce string }

func (app *application) start(verifier string, options ...oauth2.AuthCodeOption) string {
	return app.config.AuthCodeURL("state", append(options, oauth2.S256ChallengeOption(verifier))...)
}

func (app *application) authorize(person *person, options ...oauth2.AuthCodeOption) authorized {
	verifier, nonce := oauth2.GenerateVerifier(), rand.Text()
	back := person.logIn(app.start(verifier, append(options, oidc.Nonce(nonce))...))
	must(strings.HasPrefix(back.String(), app.config.RedirectURL+"?"), "the login returns elsewhere: "+back.String())
	equal(back.Query().Get("state"), "state", "state of "+back.String())
	equal(back.Query().Get("iss"), issuer, "iss (RFC 9207)")
	return authorized{back.Query().Get("code"), verifier, nonce}
}

func (app *application) logIn(person *person, options ...oauth2.AuthCodeOption) *login {
	request := app.authorize(person, options...)
	token, err := app.config.Exchange(app.ctx, request.code, oauth2.VerifierOption(request.verifier))
	check(err, "code exchange")
	found := &login{token: token}
	found.id, err = app.verifier.Verify(app.ctx, token.Extra("id_token").(string))
	check(err, "ID token")
	equal(found.id.Nonce, request.nonce, "nonce")
	check(found.id.Claims(&found.claims), "claims")
	return found
}

func (app *application) refresh(token string) (*oauth2.Token, error) {
	return app.config.TokenSource(app.ctx, &oauth2.Token{RefreshToken: token, Expiry: time.Now().Add(-time.Hour)}).Token()
}

// The application is told that the session of this login has ended. Earlier sessions of the test may be reported as well.
func (app *application) hears(person *person, found *login) {
	deadline := time.After(30 * time.Second)
	for {
		select {
		case token := <-app.logouts:
			if token.SessionID == found.claims.Session {
				equal(token.Subject, person.id, "sub of the logout token")
				return
			}
		case <-deadline:
			must(false, "the application was not told of the logout")
		}
	}
}

func api(method, path string, body any) map[string]any {
	var text strings.Builder
	check(json.NewEncoder(&text).Encode(body), path)
	request, err := http.NewRequest(method, os.Getenv("POSTERN_API_URL")+path, strings.NewReader(text.String()))
	check(err, path)
	request.Header.Set("Authorization", "Bearer "+os.Getenv("POSTERN_API_KEY"))
	request.Header.Set("Service-Version", "2")
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	check(err, path)
	defer response.Body.Close()
	must(response.StatusCode < 300, fmt.Sprint(method, " ", path, ": ", response.StatusCode))
	answer := map[string]any{}
	if response.StatusCode != 204 {
		check(json.NewDecoder(response.Body).Decode(&answer), path)
	}
	return answer
}

func refused(err error, code, what string) {
	var failure *oauth2.RetrieveError
	must(errors.As(err, &failure), fmt.Sprint(what, " is not refused: ", err))
	equal(failure.ErrorCode, code, what)
}

func equal[T comparable](actual, expected T, what string) {
	must(actual == expected, fmt.Sprintf("%s: %v instead of %v", what, actual, expected))
}

func check(err error, what string) {
	must(err == nil, fmt.Sprint(what, ": ", err))
}

func must(isTrue bool, problem string) {
	if !isTrue {
		panic(problem)
	}
}
