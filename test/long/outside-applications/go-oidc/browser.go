package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"html"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"regexp"
	"strings"

	"github.com/descope/virtualwebauthn"
)

// Trusts Postern's own authority alone, and finds the names below localhost at the edge.
func trusting() *http.Transport {
	pem, err := os.ReadFile(os.Getenv("POSTERN_CA_FILE"))
	check(err, "CA")
	pool := x509.NewCertPool()
	must(pool.AppendCertsFromPEM(pem), "no certificate in the CA file")
	dial := func(ctx context.Context, network, address string) (net.Conn, error) {
		host, port, _ := net.SplitHostPort(address)
		if strings.HasSuffix(host, ".localhost") {
			address = net.JoinHostPort(os.Getenv("POSTERN_EDGE_IP"), port)
		}
		return (&net.Dialer{}).DialContext(ctx, network, address)
	}
	return &http.Transport{DialContext: dial, TLSClientConfig: &tls.Config{RootCAs: pool}, ForceAttemptHTTP2: true}
}

type browser struct{ client *http.Client }

type page struct {
	*http.Response
	text string
}

func newBrowser() *browser {
	jar, err := cookiejar.New(nil)
	check(err, "cookies")
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &browser{&http.Client{Transport: trusting(), Jar: jar, CheckRedirect: stay}}
}

func (browser *browser) get(address string) page {
	request, err := http.NewRequest("GET", address, nil)
	check(err, address)
	request.Header.Set("Accept", "text/html")
	return browser.send(request)
}

func (browser *browser) submit(address string, form url.Values) page {
	request, err := http.NewRequest("POST", address, strings.NewReader(form.Encode()))
	check(err, address)
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	request.Header.Set("Origin", issuer)
	request.Header.Set("Sec-Fetch-Site", "same-origin")
	return browser.send(request)
}

func (browser *browser) send(request *http.Request) page {
	response, err := browser.client.Do(request)
	check(err, request.URL.Path)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	check(err, request.URL.Path)
	return page{response, string(text)}
}

// Follows redirects at the identity host, up to the login page or to another host.
func (browser *browser) open(address string) *url.URL {
	for range 10 {
		next, err := url.Parse(address)
		check(err, address)
		if next.Path == "/sign-in" || !strings.HasPrefix(address, issuer) {
			return next
		}
		answer := browser.get(address)
		location, err := answer.Location()
		check(err, address+": "+answer.Status+" "+answer.text)
		address = location.String()
	}
	panic("the redirects do not end: " + address)
}

func (browser *browser) options(path string, form url.Values) string {
	answer := browser.submit(issuer+path, form)
	equal(answer.StatusCode, 200, path+" "+answer.text)
	var body struct {
		Options json.RawMessage `json:"options"`
	}
	check(json.Unmarshal([]byte(answer.text), &body), path)
	return string(body.Options)
}

// A person with a browser and an authenticator.
type person struct {
	id, email, invitation string
	browser               *browser
	party                 virtualwebauthn.RelyingParty
	device                virtualwebauthn.Authenticator
	key                   virtualwebauthn.Credential
	isSignedIn            bool
	// Logins with the passkey so far.
	proofs int
}

func invite(email string, groups []string) *person {
	created := api("POST", "/user_accounts", map[string]any{"email": email, "name": "Judge", "groups": groups})
	host, err := url.Parse(issuer)
	check(err, issuer)
	return &person{
		id:         created["id"].(string),
		email:      email,
		invitation: created["invitation_url"].(string),
		browser:    newBrowser(),
		party:      virtualwebauthn.RelyingParty{ID: host.Hostname(), Origin: issuer, Name: "Postern"},
		device:     virtualwebauthn.NewAuthenticatorWithOptions(virtualwebauthn.AuthenticatorOptions{UserHandle: []byte(created["id"].(string))}),
		key:        virtualwebauthn.NewCredential(virtualwebauthn.KeyTypeEC2),
	}
}

func (person *person) refusedWithoutVerification() {
	careless := person.device
	careless.Options.UserNotVerified = true
	answer := person.accept(careless)
	must(answer.StatusCode == 403 && strings.Contains(answer.text, "PIN"), "a passkey without user verification: "+answer.text)
}

func (person *person) register() {
	answer := person.accept(person.device)
	equal(answer.StatusCode, 303, "the registration: "+answer.text)
	person.isSignedIn = true
}

func (person *person) accept(device virtualwebauthn.Authenticator) page {
	equal(person.browser.get(person.invitation).StatusCode, 200, "the invitation")
	link, err := url.Parse(person.invitation)
	check(err, person.invitation)
	form := url.Values{"invite": {link.Query().Get("invite")}}
	options, err := virtualwebauthn.ParseAttestationOptions(person.browser.options("/invitation/options", form))
	check(err, "options of the registration")
	equal(options.UserID, person.id, "user handle")
	form.Set("response", virtualwebauthn.CreateAttestationResponse(person.party, device, person.key, *options))
	return person.browser.submit(issuer+"/invitation/passkey", form)
}

// From the application's request to the return to it, with a proof where one is asked for.
func (person *person) logIn(start string) *url.URL {
	back := person.browser.open(start)
	if back.Path != "/sign-in" {
		must(person.isSignedIn, "somebody without a session was logged in")
		return back
	}
	query := "?" + back.RawQuery
	equal(person.browser.get(issuer+"/sign-in"+query).StatusCode, 200, "the login page")
	options, err := virtualwebauthn.ParseAssertionOptions(person.browser.options("/sign-in/options"+query, nil))
	check(err, "options of the sign-in")
	response := virtualwebauthn.CreateAssertionResponse(person.party, person.device, person.key, *options)
	answer := person.browser.submit(issuer+"/sign-in/passkey"+query, url.Values{"response": {response}})
	location, err := answer.Location()
	check(err, "the login: "+answer.Status+" "+answer.text)
	person.proofs++
	person.isSignedIn = true
	return person.browser.open(location.String())
}

func hidden(text, name string) string {
	found := regexp.MustCompile(`name="` + name + `" value="([^"]+)"`).FindStringSubmatch(text)
	must(len(found) == 2, "the page has no field "+name+": "+text)
	return html.UnescapeString(found[1])
}
