"""Uploads numbered lines with the given library, and prints the text of the response and then its status.

The parameters are environment variables: URL, TOKEN, NAME, LINES. The second argument is "length" if the body has one. The libraries
have their default settings.
"""

import os
import sys
import urllib.parse

url = os.environ["URL"]
name = os.environ["NAME"]
headers = {"authorization": "Apikey " + os.environ["TOKEN"], "content-type": "application/x-ndjson"}


def lines():
    for i in range(int(os.environ["LINES"])):
        operation = '"set","path":"none' if i % 500 == 250 else '"addAndSet","path":"up'
        yield ('{"op":%s/%s/%d","value":%d}\n' % (operation, name, i, i)).encode()


library = sys.argv[1]
body = b"".join(lines()) if sys.argv[2] == "length" else lines()

if library == "http.client":
    import http.client

    target = urllib.parse.urlsplit(url)
    connection = http.client.HTTPConnection(target.hostname, target.port)
    connection.request("POST", target.path, body, headers, encode_chunked=True)
    response = connection.getresponse()
    status, text = response.status, response.read().decode()
elif library == "requests":
    import requests

    response = requests.post(url, data=body, headers=headers)
    status, text = response.status_code, response.text
else:
    import httpx

    response = httpx.post(url, content=body, headers=headers)
    status, text = response.status_code, response.text

print(text)
print(status)
